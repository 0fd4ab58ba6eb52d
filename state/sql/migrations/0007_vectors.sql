-- Vectors of units, for search by meaning. A row goes with its unit, in the same transaction, and
-- one of another model is as good as none. They can be made anew from the folders.

create table search_vectors (
    unit_id integer primary key references search_units (unit_id) on delete cascade,
    model text not null,
    -- One signed byte a dimension, one vector for each window of the unit's text.
    windows blob not null
) strict;
