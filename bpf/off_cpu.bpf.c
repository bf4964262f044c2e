/* Observes waits of watched threads. It notes the stack when a thread leaves its CPU, and the time when it is woken.
 * When the thread comes back, it sends the wait, or counts it if it was short. */
#include "python_walk.h"
#include "sample_maps.h"

#include "proto/host_sample.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct sample_wait);
} waits SEC(".maps");

/* The initial value of entries of waits, which is too large for a program's stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_wait);
} blank SEC(".maps");

static __always_inline unsigned int state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (unsigned int)BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

static __always_inline struct sample_wait *find_wait(__u32 tid)
{
	struct sample_wait *wait = bpf_map_lookup_elem(&waits, &tid);
	__u32 zero = 0;

	if (wait)
		return wait;
	wait = bpf_map_lookup_elem(&blank, &zero);
	if (!wait || bpf_map_update_elem(&waits, &tid, wait, BPF_NOEXIST)) {
		struct sample_viewer *agent = get_viewer();

		if (agent)
			add(&agent->unnoted, 1);
		return NULL;
	}
	return bpf_map_lookup_elem(&waits, &tid);
}

/* Ends the noted wait, and computes its length. */
static __always_inline void end_wait(struct sample_wait *wait, const struct sample_settings *how,
				     __u64 end_ns, __u64 duration_ns)
{
	wait->since_ns = 0;
	if (duration_ns == 0)
		duration_ns = 1;
	if (duration_ns < how->wait_min_ns) {
		struct sample_counts *count = bpf_map_lookup_elem(&counts, &wait->event.pid);

		if (count) {
			add(&count->short_waits, 1);
			add(&count->short_waits_ns, duration_ns);
		}
		return;
	}
	wait->event.time_ns = end_ns;
	wait->event.duration_ns = duration_ns;
	sample_event_set_queued(&wait->event, wait->woken_ns, how->wait_min_ns);
	send_event(&wait->event, sizeof(wait->event) + sizeof(wait->stack) + sizeof(wait->python));
}

/* Ends a wait whose end was not seen: on some virtual machines the kernel switches threads without this event. The
 * thread's CPU time since then is known; the rest of the time was the wait. */
static __always_inline void end_unseen(struct sample_wait *wait, const struct sample_settings *how,
				       __u64 ran_ns, __u64 now_ns)
{
	__u64 since_ns = now_ns - wait->since_ns;

	ran_ns -= wait->ran_ns;
	if (ran_ns > since_ns)
		ran_ns = since_ns;
	end_wait(wait, how, now_ns - ran_ns, since_ns - ran_ns);
}

/* The kernel still runs in the thread that leaves, so the thread's stacks can be read. */
static __always_inline void leave(void *context, struct task_struct *task, bool preempted,
				  __u64 now_ns)
{
	__u32 tid = (__u32)task->pid, pid = pid_of(task);
	unsigned int state = state_of(task);
	struct sample_settings *how = get_settings();
	__u64 ran_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	struct sample_wait *wait;

	if (!is_watched(pid))
		return;
	if (state & TASK_DEAD) {
		wait = bpf_map_lookup_elem(&waits, &tid);
		if (wait && wait->since_ns && how)
			end_unseen(wait, how, ran_ns, now_ns);
		bpf_map_delete_elem(&waits, &tid);
		return;
	}
	wait = find_wait(tid);
	if (!wait || !how)
		return;
	if (wait->since_ns)
		end_unseen(wait, how, ran_ns, now_ns);
	fill_event(context, &wait->event, task, pid);
	copy_stack(&wait->event, task, how->stack_pages, SAMPLE_WAIT_PAGES_MAX);
	/* The limits are low, because a switch holds its CPU's lock meanwhile. */
	copy_python(&wait->event, task, sizeof(wait->event.addresses) + sizeof(wait->stack),
		    (struct python_limits){.states = 64, .frames = SAMPLE_PYTHON_WAIT_DEPTH});
	if (preempted || state == 0)
		wait->event.flags |= SAMPLE_EVENT_PREEMPTED;
	wait->event.kind = HOST_SAMPLE_OFF_CPU;
	wait->woken_ns = 0;
	wait->since_ns = now_ns;
	wait->ran_ns = ran_ns;
}

static __always_inline void come_back(struct task_struct *task, __u64 now_ns)
{
	__u32 tid = (__u32)task->pid;
	struct sample_settings *how = get_settings();
	struct sample_wait *wait;

	if (!how || !is_watched(pid_of(task)))
		return;
	wait = bpf_map_lookup_elem(&waits, &tid);
	if (wait && wait->since_ns)
		end_wait(wait, how, now_ns, now_ns - wait->since_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now_ns = bpf_ktime_get_ns();

	leave(ctx, prev, preempt, now_ns);
	come_back(next, now_ns);
	return 0;
}

/* Only watched threads have an entry. A preempted thread is awake all the time. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	__u32 tid = (__u32)task->pid;
	struct sample_wait *wait = bpf_map_lookup_elem(&waits, &tid);

	if (wait && wait->since_ns && !wait->woken_ns &&
	    !(wait->event.flags & SAMPLE_EVENT_PREEMPTED))
		wait->woken_ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
