#include "python_eval.h"

#include <link.h>
#include <string.h>

#include "unwind/eh_frame.h"

#define CANDIDATES_MAX 32u
#define JUMPS_MIN      4u /* each way: bytes that only look like a jump go anywhere */

static int note_file(struct dl_phdr_info *info, size_t size, void *user)
{
	struct python_eval_file *file = user;
	uint64_t hdr = 0, hdr_size = 0;
	bool found = false;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_GNU_EH_FRAME) {
			hdr = start;
			hdr_size = segment->p_memsz;
		} else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
			   file->eval_frame - start < segment->p_memsz) {
			file->code_start = start;
			file->code_end = start + segment->p_memsz;
			found = true;
		}
	}
	file->image = eh_frame_image_loaded(info);
	file->eh_frame_hdr = found ? hdr : 0;
	file->eh_frame_hdr_size = found ? hdr_size : 0;
	return found;
}

struct code_part {
	uint64_t start, end;
};

static bool holds(const struct code_part *part, uint64_t address)
{
	return address - part->start < part->end - part->start;
}

/* Returns whether a part is code, because unwind information may be wrong. */
static bool is_code(const struct python_eval_file *file, const struct code_part *part)
{
	return part->start >= file->code_start && part->end <= file->code_end &&
	       part->start < part->end;
}

#if defined(__x86_64__)
/* Returns the size of a direct jump (jmp or jcc with 32 bits) whose bytes may start here, and where it leads; 0: none.
 * Every byte is tried, because the boundaries of instructions are not known. */
static unsigned jump_at(const struct code_part *part, uint64_t at, uint64_t *target)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)at;
	unsigned size = 0;
	int32_t distance;

	if (part->end - at >= 5 && code[0] == 0xe9)
		size = 5;
	else if (part->end - at >= 6 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
		size = 6;
	if (size) {
		memcpy(&distance, code + size - 4, sizeof(distance));
		*target = at + size + (uint64_t)(int64_t)distance;
	}
	return size;
}
#else
static unsigned jump_at(const struct code_part *part, uint64_t at, uint64_t *target)
{
	(void)part;
	(void)at;
	*target = 0;
	return 0;
}
#endif

/* Counts jumps from one part into the middle of another, up to JUMPS_MIN. No function jumps into another that way. */
static unsigned count_jumps(const struct code_part *from, const struct code_part *to)
{
	unsigned jumps = 0;
	uint64_t target;

	for (uint64_t at = from->start; at < from->end && jumps < JUMPS_MIN; at++)
		if (jump_at(from, at, &target) && target != to->start && holds(to, target))
			jumps++;
	return jumps;
}

struct candidate {
	struct code_part part;
	unsigned jumps;
};

static void note_jump(const struct python_eval_file *file, struct candidate *candidates,
		      unsigned *nr, uint64_t target)
{
	struct code_part part;

	for (unsigned i = 0; i < *nr; i++) {
		if (holds(&candidates[i].part, target)) {
			candidates[i].jumps += target != candidates[i].part.start;
			return;
		}
	}
	if (*nr < CANDIDATES_MAX &&
	    eh_frame_function(&file->image, file->eh_frame_hdr, file->eh_frame_hdr_size, target,
			      &part.start, &part.end) &&
	    is_code(file, &part))
		candidates[(*nr)++] =
			(struct candidate){.part = part, .jumps = target != part.start};
}

/* Adds the parts that jump into the function and that the function jumps into. A small function that is only
 * tail-called fills a candidate's place, so candidates without jumps make room. */
static void add_parts(const struct python_eval_file *file, const struct code_part *whole,
		      struct unwind_stops *stops)
{
	struct candidate candidates[CANDIDATES_MAX];
	unsigned nr = 0;
	uint64_t target;

	for (uint64_t at = whole->start; at < whole->end; at++) {
		if (!jump_at(whole, at, &target) || holds(whole, target) ||
		    target - file->code_start >= file->code_end - file->code_start)
			continue;
		if (nr == CANDIDATES_MAX)
			for (unsigned i = nr; i-- > 0;)
				if (candidates[i].jumps <= 1)
					candidates[i] = candidates[--nr];
		note_jump(file, candidates, &nr, target);
	}
	for (unsigned i = 0; i < nr && stops->nr < UNWIND_STOPS_MAX; i++) {
		const struct code_part *part = &candidates[i].part;

		if (count_jumps(whole, part) < JUMPS_MIN || count_jumps(part, whole) < JUMPS_MIN)
			continue;
		stops->ranges[stops->nr].start = part->start;
		stops->ranges[stops->nr++].end = part->end;
	}
}

bool python_eval_find_in(const struct python_eval_file *file, struct unwind_stops *stops)
{
	struct code_part whole;

	memset(stops, 0, sizeof(*stops));
	if (!eh_frame_function(&file->image, file->eh_frame_hdr, file->eh_frame_hdr_size,
			       file->eval_frame, &whole.start, &whole.end) ||
	    !is_code(file, &whole))
		return false;
	stops->nr = 1;
	stops->ranges[0].start = whole.start;
	stops->ranges[0].end = whole.end;
	add_parts(file, &whole, stops);
	return true;
}

bool python_eval_find(uint64_t eval_frame, struct unwind_stops *stops)
{
	struct python_eval_file file = {.eval_frame = eval_frame};

	memset(stops, 0, sizeof(*stops));
	return eval_frame && dl_iterate_phdr(note_file, &file) && file.eh_frame_hdr &&
	       python_eval_find_in(&file, stops);
}
