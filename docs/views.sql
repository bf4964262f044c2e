-- Views of a profile with names in place of ids (store.md, Views). They belong to the connection that reads this file, so
-- the profile stays as it is:
--	sqlite3 -readonly -cmd '.read views.sql' prof/profile.db
-- All times are in nanoseconds. A stack is named by its innermost node.

-- The profile, one row. A profile with more than 200,000 totals has some in blocks, which no view shows: hidden_totals.
-- If there are any, advice says what to do.
CREATE TEMP VIEW profile AS
SELECT (SELECT CAST(value AS TEXT) FROM meta WHERE key = 'title') AS title,
	(SELECT CAST(value AS TEXT) FROM meta WHERE key = 'created_by') AS created_by,
	(SELECT user_version FROM pragma_user_version) AS schema,
	(SELECT min(closed) > 0 FROM writers) AS closed,
	(SELECT coalesce(sum(count), 0) FROM total_blocks WHERE kind = 0) AS hidden_totals,
	CASE WHEN EXISTS (SELECT 1 FROM total_blocks) THEN 'sums here are too small: read the views of a copy, which'
		|| ' flamegrid merge -o COPY PROFILE makes' END AS advice;

-- Processes. rank is NULL where it is not known.
CREATE TEMP VIEW ranks AS
SELECT p.id AS process, CAST(j.data AS TEXT) AS job, CAST(h.data AS TEXT) AS host, p.rank, p.local_rank, p.world_size, p.pid,
	CAST(c.data AS TEXT) AS command,
	CASE p.state WHEN 0 THEN 'running' WHEN 1 THEN 'ended' ELSE 'ended without a goodbye' END AS state
FROM processes p JOIN hosts ON hosts.id = p.host
LEFT JOIN strings h ON h.id = hosts.node LEFT JOIN strings j ON j.id = p.job LEFT JOIN strings c ON c.id = p.command;

-- GPUs, and how long each was busy between its first start and its last end. gpu is the physical index on the host.
-- The UUID is written as nvidia-smi and DCGM do.
CREATE TEMP VIEW gpus AS
SELECT d.id AS device, CAST(h.data AS TEXT) AS host, d.device_index AS gpu, CAST(n.data AS TEXT) AS name,
	'GPU-' || lower(printf('%s-%s-%s-%s-%s', substr(hex(d.uuid), 1, 8), substr(hex(d.uuid), 9, 4), substr(hex(d.uuid), 13, 4),
		substr(hex(d.uuid), 17, 4), substr(hex(d.uuid), 21, 12))) AS uuid,
	CAST(p.data AS TEXT) AS pci, l.multiprocessors, sum(t.busy_ns) AS busy_ns,
	sum(t.last_ns - t.first_ns) AS window_ns
FROM devices d JOIN hosts ON hosts.id = d.host
LEFT JOIN strings h ON h.id = hosts.node LEFT JOIN strings n ON n.id = d.name LEFT JOIN strings p ON p.id = d.pci
LEFT JOIN device_limits l ON l.device = d.id
LEFT JOIN timelines t ON t.level = 1 AND t.device_id = d.id
GROUP BY d.id;

-- Every total. plane 'gpu' is GPU time; totals of different planes must never be added. name is as the compiler made it:
-- c++filt reads it. stream is CUDA's number, unique in a context.
CREATE TEMP VIEW work AS
SELECT t.process, r.job, r.host, r.rank, r.pid, d.device_index AS gpu, t.context_id AS context, t.stream_id AS stream,
	t.tid AS thread, t.node, t.capture_stack,
	CASE WHEN t.kind < 4 THEN 'gpu' WHEN t.kind = 4 THEN 'sync' WHEN t.kind = 5 THEN 'overhead' WHEN t.kind = 6 THEN 'um'
		WHEN t.kind = 7 THEN 'modules' ELSE 'memory' END AS plane,
	CASE t.kind WHEN 0 THEN 'kernel' WHEN 1 THEN 'memcpy' WHEN 2 THEN 'memset' WHEN 3 THEN 'graph' WHEN 4 THEN 'sync'
		WHEN 5 THEN 'overhead' WHEN 6 THEN 'um' WHEN 7 THEN 'module' WHEN 8 THEN 'alloc' ELSE 'free' END AS kind,
	CASE WHEN t.kind = 1 THEN CASE t.copy_kind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 8 THEN 'DtoD' WHEN 10 THEN 'PtoP'
		ELSE 'copy ' || t.copy_kind END ELSE CAST(s.data AS TEXT) END AS name,
	t.matched, t.count, t.ns, t.bytes
FROM totals t JOIN ranks r USING (process)
LEFT JOIN process_devices pd ON pd.process = t.process AND pd.device_id = t.device_id
LEFT JOIN devices d ON d.id = pd.device
LEFT JOIN strings s ON s.id = t.name;

-- Kernels by rank, GPU and stream.
CREATE TEMP VIEW kernels AS
SELECT job, host, rank, gpu, context, stream, name AS kernel, sum(count) AS launches, sum(ns) AS ns,
	sum(ns) * 1.0 / sum(count) AS mean_ns
FROM work WHERE kind = 'kernel' GROUP BY process, gpu, context, stream, name;

-- A kernel's launches by how long they took, under each stack: from first_ns to last_ns. Add launches up to have the
-- histogram of anything. first_ns is NULL where durations are not known, or damaged. A profile before version 12 has none.
CREATE TEMP VIEW kernel_durations AS
WITH RECURSIVE bins (durations, total, hex, at, byte, bucket, value, scale, rest, count) AS (
	-- Reads a histogram (store.md) byte by byte. count: of a bucket that was read whole; NULL: its varint goes on.
	SELECT durations, total, hex, 1,
		16 * instr('0123456789ABCDEF', substr(hex, 1, 1)) + instr('0123456789ABCDEF', substr(hex, 2, 1)) - 17,
		NULL, 0, 1, total, 0
	FROM (SELECT DISTINCT durations, count AS total, hex(durations) AS hex FROM totals WHERE kind = 0 AND length(durations))
	UNION ALL
	SELECT durations, total, hex, at + 2,
		16 * instr('0123456789ABCDEF', substr(hex, at + 2, 1)) + instr('0123456789ABCDEF', substr(hex, at + 3, 1)) - 17,
		CASE WHEN count IS NULL THEN bucket ELSE byte END,
		CASE WHEN count IS NULL THEN value + (byte & 127) * scale ELSE 0 END,
		CASE WHEN count IS NULL THEN scale * 128 ELSE 1 END,
		CASE WHEN count IS NULL AND byte < 128 THEN rest - value - byte * scale ELSE rest END,
		CASE WHEN count IS NULL AND byte < 128 THEN value + byte * scale
			WHEN count IS NOT NULL AND at + 2 > length(hex) THEN rest END
	FROM bins WHERE at <= length(hex)),
whole AS (
	SELECT durations, total, bucket, count, min(count) OVER one AS least, sum(count) OVER one AS sum FROM bins
	WHERE bucket IS NOT NULL AND count IS NOT NULL WINDOW one AS (PARTITION BY durations, total))
SELECT r.job, r.host, r.rank, d.device_index AS gpu, t.context_id AS context, t.stream_id AS stream, t.node,
	CAST(s.data AS TEXT) AS kernel,
	CASE WHEN b.bucket < 4 THEN b.bucket ELSE (4 + b.bucket % 4) << (b.bucket / 4 - 1) END AS first_ns,
	CASE WHEN b.bucket < 3 THEN b.bucket ELSE ((4 + (b.bucket + 1) % 4) << ((b.bucket + 1) / 4 - 1)) - 1 END AS last_ns,
	coalesce(b.count, t.count) AS launches
FROM totals t JOIN ranks r USING (process)
LEFT JOIN whole b ON b.durations = t.durations AND b.total = t.count AND b.least > 0 AND b.sum = b.total
LEFT JOIN process_devices pd ON pd.process = t.process AND pd.device_id = t.device_id
LEFT JOIN devices d ON d.id = pd.device
LEFT JOIN strings s ON s.id = t.name
WHERE t.kind = 0;

-- Frames. A native frame may be of several inlined functions, outermost first, with their source lines.
CREATE TEMP VIEW frame_names AS
SELECT f.id AS frame,
	CAST(CASE WHEN f.code THEN file.data ELSE module.data END AS TEXT) AS file,
	CASE WHEN f.code AND c.file THEN f.offset END AS line,
	CASE WHEN f.code THEN CAST(code.data AS TEXT)
		WHEN f.name THEN replace(replace(CAST(symbol.data AS TEXT), char(9), ' '), char(10), ';')
		WHEN f.module THEN printf('%s+0x%x', CAST(module.data AS TEXT), f.offset)
		ELSE '[unknown]' END AS function,
	CASE WHEN f.code = 0 THEN lower(hex(m.build_id)) END AS build_id
FROM frames f
LEFT JOIN codes c ON c.id = f.code LEFT JOIN strings file ON file.id = c.file LEFT JOIN strings code ON code.id = c.name
LEFT JOIN modules m ON m.id = f.module LEFT JOIN strings module ON module.id = m.path
LEFT JOIN strings symbol ON symbol.id = f.name;

-- The frames of each stack, from the outside in. Ask for some nodes: to make all takes long.
CREATE TEMP VIEW stacks AS
SELECT n.id AS node, (
	WITH RECURSIVE path (id, parent, frame, depth) AS (
		SELECT id, parent, frame, 0 FROM nodes WHERE id = n.id
		UNION ALL SELECT o.id, o.parent, o.frame, path.depth + 1 FROM path JOIN nodes o ON o.id = path.parent)
	SELECT group_concat(text, ';') FROM (
		SELECT f.function || CASE WHEN f.line THEN ':' || f.line ELSE '' END AS text
		FROM path JOIN frame_names f USING (frame) ORDER BY path.depth DESC)) AS stack
FROM nodes n;

-- GPU time under each line of Python, whatever it called. A line counts once in a stack, however often it is there.
CREATE TEMP VIEW lines AS
WITH RECURSIVE path (leaf, parent, frame) AS (
	SELECT id, parent, frame FROM nodes WHERE id IN (SELECT node FROM totals WHERE kind < 4)
	UNION SELECT path.leaf, n.parent, n.frame FROM path JOIN nodes n ON n.id = path.parent),
	sums (node, count, ns) AS (SELECT node, sum(count), sum(ns) FROM totals WHERE kind < 4 GROUP BY node)
SELECT f.file, f.function, f.line, sum(s.count) AS launches, sum(s.ns) AS ns
FROM (SELECT DISTINCT leaf, frame FROM path) p JOIN sums s ON s.node = p.leaf JOIN frame_names f ON f.frame = p.frame
WHERE f.line > 0 GROUP BY f.file, f.function, f.line;

-- Calls of NCCL that have rows of their own: all of a short job, some of a long one.
CREATE TEMP VIEW collective_calls AS
SELECT c.id AS call, r.host, r.rank, printf('%016x', m.key) AS communicator, m.nr_ranks AS ranks,
	CASE c.function WHEN 0 THEN 'all_reduce' WHEN 1 THEN 'broadcast' WHEN 2 THEN 'reduce' WHEN 3 THEN 'all_gather'
		WHEN 4 THEN 'reduce_scatter' WHEN 5 THEN 'send' WHEN 6 THEN 'recv' WHEN 7 THEN 'all_to_all' WHEN 8 THEN 'gather'
		WHEN 9 THEN 'scatter' ELSE 'group' END AS function,
	nullif(c.sequence, 0) AS sequence, c.bytes, c.peer, c.start_ns, c.duration_ns, c.gpu_start_ns, c.gpu_ns, c.node
FROM collectives c JOIN ranks r USING (process)
LEFT JOIN communicators m ON m.process = c.process AND m.communicator = c.communicator;

-- Memory by allocating stack: now, and at the peak of its process, GPU and space.
CREATE TEMP VIEW allocations AS
SELECT r.host, r.rank, r.pid, d.device_index AS gpu,
	CASE WHEN s.kind IN (3, 4, 6, 8) THEN 'device' WHEN s.kind IN (5, 7) THEN 'managed' ELSE 'host' END AS space,
	s.node, s.live_count, s.live_bytes, s.peak_count, s.peak_bytes
FROM memory_stacks s JOIN ranks r USING (process)
LEFT JOIN process_devices pd ON pd.process = s.process AND pd.device_id = s.device_id
LEFT JOIN devices d ON d.id = pd.device;
