-- name: paused
select 1 from meta where key = 'learning_paused';

-- name: pause
insert into meta (key, value) values ('learning_paused', 1) on conflict (key) do nothing;

-- name: go_on
delete from meta where key = 'learning_paused';
