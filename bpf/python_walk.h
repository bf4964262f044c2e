/* Walks the running thread's Python frames, by the agent's knowledge of its process's interpreter. It reads only this
 * thread's frames, because others' may change during the read. It believes nothing that it reads: reads cannot fault,
 * and values that make no sense end the walk. */
#ifndef PYTHON_WALK_H
#define PYTHON_WALK_H

#include "sample_maps.h"

/* Limits how much a walk reads. They are constants of each program. */
struct python_limits {
	/* limit of thread states that are searched for the thread's own; new threads are first in the list */
	__u32 states;
	__u32 frames;
	/* Also identifies code by the contents of its names and lines, in versions that give it no number. That is two
	 * thirds of the cost of a frame. */
	bool contents;
};

/* a thread without a state is not searched for again in this time */
#define PYTHON_NONE_NS 100000000ull

/* Set before the program is loaded. If it is false, the program contains none of this code. */
const volatile bool has_python = true;

struct python_scratch {
	__u8 frame[SAMPLE_PYTHON_FRAME_MAX + 8];
	__u8 code[SAMPLE_PYTHON_CODE_MAX + 8];
	struct sample_python_frame frames[SAMPLE_PYTHON_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_scratch);
} python_scratch SEC(".maps");

static __always_inline __u64 read_user_word(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* Returns whether the state is the thread's, and in its interpreter's list: freed memory may look like a state. */
static __always_inline bool is_state_of(const struct sample_python *python, __u64 state,
					__u64 thread_id)
{
	__u64 prev;

	if (!state || read_user_word(state + python->thread_id) != thread_id)
		return false;
	prev = read_user_word(state + python->thread_prev);
	if (prev)
		return read_user_word(prev + python->thread_next) == state;
	return read_user_word(read_user_word(state + python->thread_interpreter) +
			      python->interpreter_threads) == state;
}

static __always_inline __u64 search_state(const struct sample_python *python, __u64 thread_id,
					  const __u32 max)
{
	__u64 interpreter = read_user_word(python->interpreters), state = 0;
	struct sample_viewer *agent = get_viewer();
	__u32 i;

	if (interpreter)
		state = read_user_word(interpreter + python->interpreter_threads);
	for (i = 0; i < max && interpreter; i++) {
		if (!state) {
			interpreter = read_user_word(interpreter + python->interpreter_next);
			if (interpreter)
				state = read_user_word(interpreter + python->interpreter_threads);
			continue;
		}
		if (read_user_word(state + python->thread_id) == thread_id)
			break;
		state = read_user_word(state + python->thread_next);
	}
	if (agent)
		add(&agent->python_steps, i);
	return i < max && interpreter ? state : 0;
}

/* Returns whether the thread has no state, because a search a moment ago went at least as far and no thread has come
 * since. A new thread's state is the first of the list. */
static __always_inline bool is_none(const struct sample_python_thread *known,
				    const struct sample_python_thread *now)
{
	return known->state == 0 && known->first == now->first &&
	       known->first_id == now->first_id && known->max >= now->max &&
	       now->searched_ns - known->searched_ns < PYTHON_NONE_NS;
}

static __always_inline __u64 find_state(const struct sample_python *python,
					struct task_struct *task, const __u32 max)
{
	__u64 thread_id = BPF_CORE_READ(task, thread.fsbase);
	__u64 interpreter = read_user_word(python->interpreters);
	__u32 tid = (__u32)task->pid;
	struct sample_python_thread *known = bpf_map_lookup_elem(&python_threads, &tid);
	struct sample_python_thread now = {.max = max};

	if (!thread_id || !interpreter)
		return 0;
	if (known && is_state_of(python, known->state, thread_id))
		return known->state;
	now.searched_ns = bpf_ktime_get_ns();
	now.first = read_user_word(interpreter + python->interpreter_threads);
	now.first_id = now.first ? read_user_word(now.first + python->thread_id) : 0;
	if (known && is_none(known, &now))
		return 0;
	now.state = search_state(python, thread_id, max);
	bpf_map_update_elem(&python_threads, &tid, &now, BPF_ANY);
	return now.state;
}

/* Read a field of a copy, at an offset that the agent has checked. The masks bound it for the verifier. */
static __always_inline __u64 word_at(const __u8 *bytes, __u32 offset)
{
	offset &= SAMPLE_PYTHON_FRAME_MAX - 1;
	barrier_var(offset);
	return *(const __u64 *)(bytes + (offset & (SAMPLE_PYTHON_FRAME_MAX - 1)));
}

/* Reads a byte, 15 at most; 0 at offset 0. It has no branch, since the verifier would follow both sides each time. */
static __always_inline __u64 byte_at(const __u8 *bytes, __u32 offset)
{
	__u64 value, above;

	offset &= SAMPLE_PYTHON_FRAME_MAX - 1;
	barrier_var(offset);
	value = bytes[offset & (SAMPLE_PYTHON_FRAME_MAX - 1)];
	value &= -(__u64)((offset + SAMPLE_PYTHON_FRAME_MAX - 1) / SAMPLE_PYTHON_FRAME_MAX);
	above = (value + 0xf0) >> 8; /* 1: value is above 15 */
	barrier_var(above);
	return (value | -above) & 15;
}

static __always_inline bool read_user(void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (void *)address) == 0;
}

static __always_inline bool read_contents(struct sample_python_identity *to)
{
	__u64 lines = to->lines + SAMPLE_PYTHON_HEAD;

	return read_user(to->file_head, sizeof(to->file_head), to->file + SAMPLE_PYTHON_HEAD) &&
	       read_user(to->name_head, sizeof(to->name_head), to->name + SAMPLE_PYTHON_HEAD) &&
	       read_user(to->lines_head, sizeof(to->lines_head), lines) &&
	       read_user(to->lines_tail, sizeof(to->lines_tail), lines + to->lines_head[0]);
}

static __always_inline __u64 identity_of(const struct sample_python *python, __u8 *copy, __u64 code,
					 const bool contents)
{
	struct sample_python_identity identity = {};
	__u32 size = python->code_size;

	if (size > SAMPLE_PYTHON_CODE_MAX || !read_user(copy, size, code + python->code_low))
		return 0;
	identity.file = word_at(copy, python->code_file);
	identity.name = word_at(copy, python->code_name);
	identity.lines = word_at(copy, python->code_lines);
	identity.first_line = (__u32)word_at(copy, python->code_first_line);
	identity.version = 0;
	if (python->code_version != SAMPLE_PYTHON_NONE)
		identity.version = (__u32)word_at(copy, python->code_version);
	if (contents && !identity.version && !read_contents(&identity))
		return 0;
	return sample_python_hash(&identity);
}

/* Walks the frames, including the interpreter's own, which the agent leaves out. Returns their number. *cut: more
 * frames exist. */
static __always_inline __u32 walk_python(const struct sample_python *python,
					 struct python_scratch *scratch, __u64 frame,
					 const struct python_limits limits, bool *cut)
{
	__u32 size = python->frame_size, nr = 0;

	for (nr = 0; nr < limits.frames && frame; nr++) {
		struct sample_python_frame *to = &scratch->frames[nr];
		__u64 code, instruction;

		if (size > SAMPLE_PYTHON_FRAME_MAX ||
		    bpf_probe_read_user(scratch->frame, size, (void *)frame))
			break;
		code = word_at(scratch->frame, python->frame_code) & python->code_mask &
		       SAMPLE_PYTHON_CODE;
		instruction = word_at(scratch->frame, python->frame_instruction);
		to->instruction =
			instruction & (~0ull >> ((64 - 8 * python->instruction_size) & 63));
		to->identity = identity_of(python, scratch->code, code, limits.contents);
		to->code =
			code | (byte_at(scratch->frame, python->frame_owner) |
				byte_at(scratch->frame, python->frame_mark) << SAMPLE_PYTHON_OWNER)
				       << SAMPLE_PYTHON_CODE_BITS;
		frame = word_at(scratch->frame, python->frame_back);
	}
	*cut = nr == limits.frames && frame;
	return nr;
}

static __always_inline const struct sample_python *python_of(const struct sample_event *event)
{
	const struct sample_python *python = bpf_map_lookup_elem(&pythons, &event->pid);

	if (!python || !python->start)
		return python;
	return python->start == event->process_start && python->exec_id == event->exec_id ? python
											  : NULL;
}

/* Copies the frames behind the stack. max: bytes of room for addresses and stack, before the room for frames. scratch:
 * meanwhile no other program may use it. */
static __always_inline void copy_python_by(struct python_scratch *scratch,
					   struct sample_event *event, struct task_struct *task,
					   const __u64 max, const struct python_limits limits)
{
	__u64 offset = event->user_size + event->kernel_size + event->stack_size;
	const struct sample_python *python;
	__u64 state, frame;
	__u32 size;
	bool cut;

	if (!has_python || !bpf_core_field_exists(task->thread.fsbase))
		return;
	python = python_of(event);
	if (!python || offset > max)
		return;
	state = find_state(python, task, limits.states);
	if (!state)
		return;
	frame = read_user_word(state + python->thread_frame);
	if (frame && python->c_frame_frame != SAMPLE_PYTHON_NONE)
		frame = read_user_word(frame + python->c_frame_frame);
	size = walk_python(python, scratch, frame, limits, &cut) *
	       sizeof(struct sample_python_frame);
	barrier_var(size);
	if (!size || size > limits.frames * sizeof(struct sample_python_frame) ||
	    bpf_probe_read_kernel((char *)event->addresses + offset, size, scratch->frames))
		return;
	event->python_size = size;
	if (cut)
		event->flags |= SAMPLE_EVENT_PYTHON_CUT;
}

/* Calls copy_python_by() with this CPU's scratch, for programs that no other thread of the CPU can interrupt. */
static __always_inline void copy_python(struct sample_event *event, struct task_struct *task,
					const __u64 max, const struct python_limits limits)
{
	struct python_scratch *scratch;
	__u32 zero = 0;

	if (!has_python)
		return;
	scratch = bpf_map_lookup_elem(&python_scratch, &zero);
	if (scratch)
		copy_python_by(scratch, event, task, max, limits);
}

#endif
