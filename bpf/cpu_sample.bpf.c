/* Samples the watched thread that each tick of a CPU's sampling clock interrupts. */
#include "python_walk.h"
#include "sample_maps.h"

#include "proto/host_sample.h"

/* A CPU handles one interrupt at a time, so one event for each CPU is enough. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_event_copy);
} scratch SEC(".maps");

SEC("perf_event")
int on_tick(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0, pid = pid_of(task);
	struct sample_settings *how = get_settings();
	struct sample_event_copy *copy;
	struct sample_event *event;

	if (!how || !is_watched(pid))
		return 0;
	copy = bpf_map_lookup_elem(&scratch, &zero);
	if (!copy)
		return 0;
	event = &copy->event;
	fill_event(context, event, task, pid);
	event->time_ns = bpf_ktime_get_ns();
	event->duration_ns = how->period_ns;
	event->kind = HOST_SAMPLE_CPU;
	copy_stack(event, task, how->stack_pages, SAMPLE_STACK_PAGES_MAX);
	copy_python(event, task, sizeof(event->addresses) + SAMPLE_STACK_MAX,
		    (struct python_limits){
			    .states = 512, .frames = SAMPLE_PYTHON_DEPTH, .contents = true});
	send_event(event, sizeof(*copy));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
