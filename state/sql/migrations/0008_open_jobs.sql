-- Jobs that are not done, which are few: what may go on is found without a look at those that are.
create index jobs_open on jobs (version, kind, status) where status <> 'done';
