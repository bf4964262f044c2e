/* Holds what all BPF programs of the agent share: maps that the loader unites (bpf_ring.h), and functions that fill in
 * and send a sample. */
#ifndef SAMPLE_MAPS_H
#define SAMPLE_MAPS_H

#include "kernel_types.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sample_event.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the loader */
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLE_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct watched);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, SAMPLE_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct sample_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLE_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct sample_python);
} pythons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SAMPLE_PYTHON_THREADS);
	__type(key, __u32);
	__type(value, struct sample_python_thread);
} python_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_viewer);
} viewer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_settings);
} settings SEC(".maps");

static __always_inline struct sample_viewer *get_viewer(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&viewer, &zero);
}

static __always_inline struct sample_settings *get_settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

/* Returns the pid's number in a namespace level, 0 for the outermost. A level that it does not have gives zeros. */
static __always_inline struct pid_number read_number(struct pid *pid, __u32 level)
{
	struct pid_number number = {};

	if (level <= BPF_CORE_READ(pid, level))
		bpf_probe_read_kernel(&number, sizeof(number),
				      (char *)&pid->numbers[0] + level * sizeof(number));
	return number;
}

/* Returns the pid of the task's process as the agent sees it; 0: the agent does not see it. */
static __always_inline __u32 pid_of(struct task_struct *task)
{
	struct sample_viewer *from = get_viewer();
	struct pid_number number;

	if (!from)
		return 0;
	if (from->level == 0)
		return (__u32)BPF_CORE_READ(task, tgid);
	number = read_number(BPF_CORE_READ(task, group_leader, thread_pid), from->level);
	return number.pid_namespace == from->pid_namespace ? (__u32)number.number : 0;
}

/* Returns the task's thread id, as the task sees it. */
static __always_inline __u32 own_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	return (__u32)read_number(pid, BPF_CORE_READ(pid, level)).number;
}

/* Returns whether samples of this process are wanted. */
static __always_inline bool is_watched(__u32 pid)
{
	struct watched *process = pid ? bpf_map_lookup_elem(&watched, &pid) : NULL;

	return process && !(process->flags & WATCHED_CHILDREN_ONLY);
}

/* Returns flags that wake the agent only for the first event of a program. Its files may be gone by the next pass, and
 * waking costs microseconds. */
static __always_inline __u64 wake_flags(const struct sample_event *event)
{
	struct watched *process = bpf_map_lookup_elem(&watched, &event->pid);

	if (!process || process->met == event->exec_id + 1)
		return BPF_RB_NO_WAKEUP;
	process->met = event->exec_id + 1;
	return BPF_RB_FORCE_WAKEUP;
}

/* Fills in the identity of the current task. */
static __always_inline void fill_who(struct sample_event *event, struct task_struct *task,
				     __u32 pid)
{
	event->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	event->argument = 0;
	event->pid = pid;
	event->tid = own_tid(task);
	event->exec_id = (__u32)BPF_CORE_READ(task, self_exec_id);
	event->code_pages = (__u32)BPF_CORE_READ(task, mm, exec_vm);
	event->flags = 0;
	event->cpu = (__u16)bpf_get_smp_processor_id();
	event->stack_size = 0;
	event->python_size = 0;
	__builtin_memset(event->parts, 0, sizeof(event->parts));
	BPF_CORE_READ_STR_INTO(&event->command, task, group_leader, comm);
}

/* Fills in the identity and the stack of the current task: all but times and kind. The context is the program's. */
static __always_inline void fill_event(void *context, struct sample_event *event,
				       struct task_struct *task, __u32 pid)
{
	long user, kernel;

	fill_who(event, task, pid);
	user = bpf_get_stack(context, event->addresses, SAMPLE_USER_DEPTH * sizeof(__u64),
			     BPF_F_USER_STACK);
	if (user < 0 || user > (long)(SAMPLE_USER_DEPTH * sizeof(__u64)))
		user = 0;
	event->user_size = (__u16)user;
	kernel = bpf_get_stack(context, (char *)event->addresses + user,
			       SAMPLE_KERNEL_DEPTH * sizeof(__u64), 0);
	if (kernel < 0 || kernel > (long)(SAMPLE_KERNEL_DEPTH * sizeof(__u64)))
		kernel = 0;
	event->kernel_size = (__u16)kernel;
}

#define FAR_FRAMES 48u        /* limit of frame pointers that are followed */
#define FAR_MAX    (8u << 20) /* limit of bytes between two frame pointers */
/* Bytes below a frame pointer that are copied. A function that realigns its stack notes its frame's place there. */
#define FAR_BELOW 256u

/* A chain of frame pointers. */
struct far_chain {
	__u64 fp, low; /* fp is the next frame pointer, which has to be above low */
};

/* Finds where the copy continues when it has come to `reached`, if frame pointers lead there. It skips frames of many
 * KiB (cuBLAS has one of 36, CUDA 13.0). Their pages may never have been touched, and then can't be read. 0: frame
 * pointers lead nowhere. */
static __noinline __u64 find_far(struct far_chain *chain, __u64 reached)
{
	for (__u32 i = 0; i < FAR_FRAMES; i++) {
		__u64 fp = chain->fp, far = fp - FAR_BELOW, next;

		if (fp <= chain->low || fp - chain->low > FAR_MAX || fp & 7)
			return 0;
		if (fp >= reached) {
			if (far < reached || bpf_probe_read_user(&next, sizeof(next), (void *)far))
				far = fp & ~4095ull;
			return far < reached ? reached : far;
		}
		if (bpf_probe_read_user(&next, sizeof(next), (void *)fp))
			return 0;
		chain->low = fp;
		chain->fp = next;
	}
	return 0;
}

/* Copies the user's stack, from user_sp on, behind the addresses, into max_pages of room. It goes page by page, since
 * the page above the stack can't be read. The first half is copied as it lies; from the second half on, only the parts
 * that the next frame pointer needs. */
static __always_inline void copy_stack_from(struct sample_event *event, __u64 nr_pages,
					    const __u32 max_pages)
{
	struct far_chain chain = {event->user_fp, event->user_sp};
	__u64 offset = event->user_size + event->kernel_size, from = event->user_sp, done = 0;
	__u32 parts = 0;

	if (offset > sizeof(event->addresses))
		return;
	for (__u32 i = 0; i < max_pages && i < nr_pages; i++) {
		__u64 part = 4096 - (from & 4095), far = 0;

		if (done > (max_pages - 1) * 4096)
			break;
		if (2 * i >= nr_pages && parts < SAMPLE_PARTS)
			far = find_far(&chain, from + 4096);
		if (!far && bpf_probe_read_user((char *)event->addresses + offset + done, part,
						(void *)from)) {
			/* The copy was cut, so a frame pointer may lead farther up. */
			if (parts < SAMPLE_PARTS)
				far = find_far(&chain, from);
			if (!far)
				break;
		}
		if (far) {
			from = far;
			part = 4096 - (from & 4095);
			event->parts[parts].sp = from;
			event->parts[parts].offset = (__u32)done;
			parts++;
			if (bpf_probe_read_user((char *)event->addresses + offset + done, part,
						(void *)from))
				break;
		}
		done += part;
		from += part;
	}
	event->stack_size = (__u32)done;
}

/* Copies the top of the stack, by the task's registers at its entry into the kernel. */
static __always_inline void copy_stack(struct sample_event *event, struct task_struct *task,
				       __u64 nr_pages, const __u32 max_pages)
{
	struct pt_regs *registers = NULL;

	if (!nr_pages || !event->user_size ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) ||
	    !bpf_core_field_exists(registers->bp))
		return;
	registers = (struct pt_regs *)bpf_task_pt_regs(task);
	event->user_pc = BPF_CORE_READ(registers, ip);
	event->user_sp = BPF_CORE_READ(registers, sp);
	event->user_fp = BPF_CORE_READ(registers, bp);
	copy_stack_from(event, nr_pages, max_pages);
}

/* Adds atomically, because probes of different kinds can interrupt each other on one CPU. */
static __always_inline void add(__u64 *counter, __u64 amount)
{
	__sync_fetch_and_add(counter, amount);
}

/* Counts an event that is not sent. */
static __always_inline void count_unsent(const struct sample_event *event)
{
	struct sample_counts *count = bpf_map_lookup_elem(&counts, &event->pid);

	if (!count)
		return;
	add(&count->samples, 1);
	add(&count->samples_ns, event->duration_ns);
	add(&count->lost, 1);
	add(&count->lost_ns, event->duration_ns);
}

/* Counts the event, and sends it if the ring has room. max: bytes of the buffer that holds it. */
static __always_inline void send_event(struct sample_event *event, const __u64 max)
{
	struct sample_counts *count = bpf_map_lookup_elem(&counts, &event->pid);
	__u64 size = SAMPLE_EVENT_HEAD_SIZE + event->user_size + event->kernel_size +
		     event->stack_size + event->python_size;

	if (count) {
		add(&count->samples, sample_event_samples(event));
		add(&count->samples_ns, event->duration_ns);
	}
	/* Otherwise the compiler checks a copy of size, and the verifier does not connect the two. */
	barrier_var(size);
	if (size > max)
		size = max;
	if (bpf_ringbuf_output(&events, event, size, wake_flags(event)) == 0 || !count)
		return;
	add(&count->lost, sample_event_samples(event));
	add(&count->lost_ns, event->duration_ns);
}

#endif
