-- The first schema. All times are Unix milliseconds, UTC.

create table meta (
    key text primary key,
    value any not null
) strict, without rowid;

-- Fences come from this counter; nothing ever lowers it, a reset of memory neither.
insert into meta (key, value) values ('fence', 0);

create table threads (
    thread_id text primary key,
    rollout_path text not null,
    created_at_ms integer not null,
    updated_at_ms integer not null,
    cwd text not null,
    preview text not null,
    name text,
    source text not null,
    source_kind text not null,
    root integer not null check (root in (0, 1)),
    thread_source text,
    model_provider text not null,
    model text,
    cli_version text not null,
    originator text,
    history_mode text not null check (history_mode in ('legacy', 'paginated')),
    memory_mode text not null check (memory_mode in ('enabled', 'disabled', 'polluted')),
    archived integer not null check (archived in (0, 1)),
    git_branch text,
    git_sha text,
    git_origin_url text,
    forked_from_id text,
    imported_from text,
    imported_digest text,
    imported_at_ms integer,
    use_memories integer not null check (use_memories in (0, 1)),
    -- Name and preview in one case, for search; written with them, never on its own.
    searchable text not null
) strict, without rowid;

-- Lists: one index for each order, with and without a working directory.
create index threads_by_creation on threads (archived, created_at_ms, thread_id)
    where preview <> '';
create index threads_by_update on threads (archived, updated_at_ms, thread_id)
    where preview <> '';
create index threads_by_cwd_creation on threads (cwd, archived, created_at_ms, thread_id)
    where preview <> '';
create index threads_by_cwd_update on threads (cwd, archived, updated_at_ms, thread_id)
    where preview <> '';
-- Threads that may be learned from, the newest first.
create index threads_to_learn on threads (updated_at_ms desc, thread_id)
    where memory_mode = 'enabled' and archived = 0 and root = 1 and preview <> '';

create table jobs (
    version text not null,
    kind text not null check (kind in ('extraction', 'consolidation')),
    key text not null,
    status text not null check (status in ('pending', 'running', 'done', 'failed')),
    worker text,
    fence integer,
    started_at_ms integer,
    finished_at_ms integer,
    lease_until_ms integer,
    retry_at_ms integer,
    attempts_left integer not null,
    reason text,
    outcome text,
    watermark_ms integer,
    success_watermark_ms integer,
    cooldown_from_ms integer,
    primary key (version, kind, key)
) strict, without rowid;

create index jobs_running on jobs (version, kind, lease_until_ms) where status = 'running';
create index jobs_by_time on jobs (version, coalesce(finished_at_ms, started_at_ms, 0), key);
create index jobs_by_key on jobs (kind, key);

create table outputs (
    version text not null,
    thread_id text not null,
    source_updated_at_ms integer not null,
    raw_memory text not null,
    rollout_summary text not null,
    rollout_slug text,
    generated_at_ms integer not null,
    usage_count integer not null default 0,
    last_usage_ms integer,
    selected integer not null default 0 check (selected in (0, 1)),
    selected_source_updated_at_ms integer,
    primary key (version, thread_id)
) strict;

-- The ranking of a consolidation's inputs.
create index outputs_by_rank on outputs (
    version,
    usage_count desc,
    coalesce(last_usage_ms, source_updated_at_ms) desc,
    source_updated_at_ms desc,
    thread_id desc
);
create index outputs_by_source on outputs (version, source_updated_at_ms desc, thread_id desc);
create index outputs_selected on outputs (version, thread_id) where selected = 1;
create index outputs_by_thread on outputs (thread_id);

create table consolidation_progress (
    version text primary key,
    threads_max integer not null
) strict, without rowid;

create table editions (
    edition_id integer primary key,
    version text not null,
    fence integer not null,
    state text not null check (state in ('open', 'published', 'abandoned')),
    commit_id text not null,
    staged text not null,
    inputs text not null,
    made_at_ms integer not null,
    decided_at_ms integer
) strict;

create index editions_open on editions (version) where state = 'open';
create index editions_by_version on editions (version, state, edition_id);

create table spending (
    spending_id integer primary key,
    day text not null,
    kind text not null,
    job_key text not null,
    version text not null,
    model text not null,
    input_tokens integer not null,
    cached_tokens integer not null,
    output_tokens integer not null,
    trigger text not null,
    at_ms integer not null
) strict;

create index spending_by_day on spending (day, kind);
