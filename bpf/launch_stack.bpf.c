/* Runs in the guest's probe (inject/launch/launch_probe.h), and walks the stack of the launching thread. Other threads
 * of a CPU can interrupt a probe, so it uses no memory of the CPU. It writes the stack directly into the ring. */
#include "find_viewer.h"
#include "launch_event.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___x86 {
	unsigned long di, si;
};

struct pt_regs___arm64 {
	__u64 regs[31];
};

#pragma clang attribute pop

/* Reads the probe's first two arguments, which are a C function's. Direct loads would not do: the compiler would merge
 * both into one with a computed offset, which the kernel refuses. */
static __always_inline void read_arguments(void *context, __u32 *correlation_id, __u32 *cbid)
{
	__u64 first = 0, second = 0;

	if (bpf_core_field_exists(((struct pt_regs___x86 *)context)->di)) {
		bpf_core_read(&first, sizeof(first), &((struct pt_regs___x86 *)context)->di);
		bpf_core_read(&second, sizeof(second), &((struct pt_regs___x86 *)context)->si);
	} else {
		bpf_core_read(&first, sizeof(first), &((struct pt_regs___arm64 *)context)->regs[0]);
		bpf_core_read(&second, sizeof(second),
			      &((struct pt_regs___arm64 *)context)->regs[1]);
	}
	*correlation_id = (__u32)first;
	*cbid = (__u32)second;
}

SEC("uprobe/launch")
int on_launch(void *context)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 pid = pid_of(task);
	struct launch_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	long size;

	if (!event) {
		struct sample_counts *count = bpf_map_lookup_elem(&counts, &pid);

		if (count)
			add(&count->probes_lost, 1);
		return 0;
	}
	event->time_ns = bpf_ktime_get_ns();
	event->pid = pid;
	event->tid = own_tid(task);
	read_arguments(context, &event->correlation_id, &event->cbid);
	event->code_pages = (__u32)BPF_CORE_READ(task, mm, exec_vm);
	size = bpf_get_stack(context, event->addresses, sizeof(event->addresses), BPF_F_USER_STACK);
	event->depth = size > 0 ? (__u32)size / sizeof(event->addresses[0]) : 0;
	/* Waking costs microseconds. The agent reads this ring whenever it reads the guest's ring. */
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
