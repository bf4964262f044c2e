-- Ten questions to the profiles of all jobs (clickhouse.sql). Projections answer what asks for sums by their columns and for
-- times of days, or hours of jobs; sumIf() stands outside.

-- 1. Which kernels took the most GPU time in the last week?
SELECT name, sum(count) AS launches, sum(ns) AS gpu_ns FROM flamegrid.work
WHERE plane = 'gpu' AND kind = 'kernel' AND toDate(time) >= toDate(now() - INTERVAL 7 DAY)
GROUP BY name ORDER BY gpu_ns DESC LIMIT 20;

-- 2. Which jobs waited the most for other ranks, as a share of their GPU time?
SELECT job, user, sumIf(ns, kind = 'nccl_wait') AS waited_ns, waited_ns / sum(ns) AS share FROM (
	SELECT job, user, kind, sum(ns) AS ns FROM flamegrid.work WHERE plane = 'gpu' AND toStartOfHour(time) >= toStartOfHour(now() - INTERVAL 7 DAY)
	GROUP BY job, user, kind)
GROUP BY job, user HAVING waited_ns > 0 ORDER BY waited_ns DESC LIMIT 20;

-- 3. How did a kernel's mean time change from day to day, by driver? The kernel is that with the most time.
SELECT toDate(time) AS day, driver, sum(ns) / sum(count) AS mean_ns FROM flamegrid.work
WHERE plane = 'gpu' AND kind = 'kernel' AND name = (SELECT name FROM flamegrid.work WHERE plane = 'gpu' AND kind = 'kernel'
	GROUP BY name ORDER BY sum(ns) DESC LIMIT 1)
GROUP BY day, driver HAVING sum(count) > 0 ORDER BY day, driver;

-- 4. On which model of GPU does each of the ten largest kernels take how long?
SELECT name, model, sum(ns) / sum(count) AS mean_ns FROM flamegrid.work
WHERE plane = 'gpu' AND kind = 'kernel' AND name IN (SELECT name FROM flamegrid.work WHERE plane = 'gpu' AND kind = 'kernel'
	GROUP BY name ORDER BY sum(ns) DESC LIMIT 10)
GROUP BY name, model HAVING sum(count) > 0 ORDER BY name, model;

-- 5. Which users used the most GPU time?
SELECT user, sum(ns) AS gpu_ns, count() AS jobs FROM (
	SELECT user, job, sum(ns) AS ns FROM flamegrid.work WHERE plane = 'gpu' AND toStartOfHour(time) >= toStartOfHour(now() - INTERVAL 7 DAY) GROUP BY user, job)
GROUP BY user ORDER BY gpu_ns DESC LIMIT 20;

-- 6. Which jobs left their GPUs idle for longest?
SELECT job, user, sumIf(ns, plane = 'idle') AS idle_ns, sumIf(ns, plane = 'gpu') AS gpu_ns FROM (
	SELECT job, user, plane, sum(ns) AS ns FROM flamegrid.work WHERE plane IN ('idle', 'gpu') GROUP BY job, user, plane)
GROUP BY job, user HAVING idle_ns > 0 ORDER BY idle_ns DESC LIMIT 20;

-- 7. Which GPUs take longer than others of their model for a launch of a kernel, on average?
SELECT host, gpu, gpu_uuid, model, sum(ns) / sum(count) AS mean_ns FROM flamegrid.work
WHERE plane = 'gpu' AND kind = 'kernel' AND gpu_uuid != ''
GROUP BY host, gpu, gpu_uuid, model HAVING sum(count) > 0 ORDER BY mean_ns DESC LIMIT 20;

-- 8. Which share of GPU time is copies, hour by hour?
SELECT hour, sumIf(ns, kind = 'memcpy') / sum(ns) AS share FROM (
	SELECT toStartOfHour(time) AS hour, kind, sum(ns) AS ns FROM flamegrid.work WHERE plane = 'gpu' GROUP BY hour, kind)
GROUP BY hour HAVING sum(ns) > 0 ORDER BY hour;

-- 9. Which stacks of a job launch the most GPU time? The job is that with the most.
SELECT arrayStringConcat(any(s.frames), ';') AS path, sum(w.gpu_ns) AS gpu_ns FROM (
	SELECT stack, sum(ns) AS gpu_ns FROM flamegrid.work
	WHERE plane = 'gpu' AND job = (SELECT job FROM flamegrid.work WHERE plane = 'gpu' GROUP BY job ORDER BY sum(ns) DESC LIMIT 1)
	GROUP BY stack ORDER BY gpu_ns DESC LIMIT 20) AS w
LEFT JOIN (SELECT stack, any(frames) AS frames FROM flamegrid.stacks WHERE stack != 0 GROUP BY stack) AS s ON s.stack = w.stack
GROUP BY w.stack ORDER BY gpu_ns DESC;

-- 10. Which profiles are incomplete, and why?
SELECT job, user, reason, sum(count) AS records FROM flamegrid.losses
WHERE lost = 1 GROUP BY job, user, reason HAVING records > 0 ORDER BY records DESC LIMIT 20;
