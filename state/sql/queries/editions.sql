-- name: open_intent
insert into editions (version, fence, state, commit_id, staged, inputs, made_at_ms)
values (:version, :fence, 'open', :commit_id, :staged, :inputs, :made_at_ms)
returning edition_id;

-- name: open_ones
select * from editions where state = 'open' order by edition_id;

-- name: decide
-- An intent is decided once.
update editions set state = :state, decided_at_ms = :decided_at_ms
where edition_id = :edition_id and state = 'open';

-- name: latest
select * from editions where version = :version and state = 'published'
order by edition_id desc limit 1;

-- name: get
select * from editions where edition_id = :edition_id;
