-- A database as version 2 of the schema writes it. Frozen: it must stay readable by every later Temper.
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tasks(id INTEGER PRIMARY KEY, op TEXT NOT NULL, key TEXT NOT NULL UNIQUE);
CREATE INDEX tasks_by_op ON tasks(op);
CREATE TABLE targets(id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);
CREATE TABLE records(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id INTEGER NOT NULL REFERENCES tasks(id),
  target_id INTEGER NOT NULL REFERENCES targets(id),
  candidate TEXT NOT NULL,
  definition INTEGER NOT NULL,
  schema INTEGER NOT NULL,
  temper_version TEXT NOT NULL,
  failure TEXT NOT NULL,
  reason TEXT NOT NULL,
  min_seconds REAL,
  median_seconds REAL,
  repeats INTEGER NOT NULL,
  number INTEGER NOT NULL,
  build_seconds REAL,
  run_seconds REAL,
  max_error REAL,
  strategy TEXT NOT NULL,
  seed INTEGER NOT NULL,
  created_unix_ms INTEGER NOT NULL,
  UNIQUE(task_id, target_id, candidate));
CREATE INDEX records_best ON records(task_id, target_id, min_seconds, id) WHERE failure = 'none';
CREATE TABLE traces(record_id INTEGER PRIMARY KEY REFERENCES records(id), trace TEXT NOT NULL);
CREATE INDEX records_default ON records(task_id, target_id) WHERE strategy = 'default';
INSERT INTO meta VALUES('schema', '2');
INSERT INTO tasks VALUES(1, 'matmul', 'matmul(m=1,n=512,threads=1)');
INSERT INTO targets VALUES(1, 'zen4');
INSERT INTO records VALUES(5, 1, 1, 'packed{tile=6}', -2, 1, '0.1.0', 'none', '', 0.001, 0.0015, 5, 10, 0.02, 0.3, 1e-06,
                           'annealing', -1, 1700000000000);
INSERT INTO records VALUES(6, 1, 1, 'packed{tile=7}', -2, 1, '0.1.0', 'wrong_result', 'off', 0, 0, 0, 0, 0.02, 0.1, NULL,
                           'annealing', -1, 1700000000001);
INSERT INTO traces VALUES(5, 'split i 6');
PRAGMA application_id = 1414548818;
PRAGMA user_version = 2;
COMMIT;
