-- name: without
-- Units of files that are indexed in full, behind one of them, which have no vectors of this model.
select u.unit_id, u.file_id, u.begin_byte, u.end_byte, u.mark, f.path, f.stamp
from search_files f
cross join search_units u on u.file_id = f.file_id
where f.version = :version and f.stamp <> '' and f.file_id >= :file_id
and (u.file_id, u.unit_id) > (:file_id, :unit_id) and not exists (
    select 1 from search_vectors v where v.unit_id = u.unit_id and v.model = :model
)
order by u.file_id, u.unit_id limit :most;

-- name: add
-- Only while the unit is there and says what was embedded.
insert into search_vectors (unit_id, model, windows)
select unit_id, :model, :windows from search_units where unit_id = :unit_id and mark = :mark
on conflict (unit_id) do update set model = excluded.model, windows = excluded.windows;

-- name: of_files
select u.unit_id, u.file_id, u.mark, v.windows from json_each(:file_ids) i
cross join search_units u on u.file_id = i.value
cross join search_vectors v on v.unit_id = u.unit_id
where v.model = :model
order by u.unit_id;

-- name: count
-- How many units there are, and how many have vectors of this model.
select count(*) as units, count(v.unit_id) as done from search_files f
cross join search_units u on u.file_id = f.file_id
left join search_vectors v on v.unit_id = u.unit_id and v.model = :model
where f.version = :version;
