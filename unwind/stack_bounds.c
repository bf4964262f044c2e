#include "stack_bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/launch_path.h"

#define PAGE_BYTES        4096u
#define QUERY_INTERVAL_NS 100000000u
/* The kernel maps nothing else within this distance below the main thread's stack. */
#define MAIN_STACK_BYTES (128u << 20)
/* A launch this near to the top of its stack, as most are, does not need the text of the mappings. */
#define NEAR_BYTES   (256u << 10)
#define SIGSET_BYTES 8 /* the kernel's */

enum field { FIELD_START, FIELD_END, FIELD_READ, FIELD_WRITE, FIELD_REST };

struct maps_line {
	enum field field;
	bool readable;
	uintptr_t start, end;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes one character. Returns true once the line has said that the mapping is readable and writable. */
static bool maps_line_take(struct maps_line *line, char c)
{
	uintptr_t *number = line->field == FIELD_START ? &line->start : &line->end;

	switch (line->field) {
	case FIELD_START:
	case FIELD_END:
		if (hex_digit(c) >= 0)
			*number = *number << 4 | (uintptr_t)hex_digit(c);
		else
			line->field++;
		return false;
	case FIELD_READ:
		line->readable = c == 'r';
		line->field++;
		return false;
	case FIELD_WRITE:
		line->field++;
		return line->readable && c == 'w';
	case FIELD_REST:
	default:
		if (c == '\n')
			*line = (struct maps_line){0};
		return false;
	}
}

int stack_bounds_mapping(int fd, uintptr_t address, uintptr_t *low, uintptr_t *high)
{
	struct maps_line line = {0};
	char text[1024]; /* small, because the calling thread may have a tiny stack */
	ssize_t size;

	*low = *high = 0;
	while ((size = read(fd, text, sizeof(text))) > 0 || (size < 0 && errno == EINTR)) {
		for (ssize_t i = 0; i < size; i++) {
			if (!maps_line_take(&line, text[i]) || address < line.start ||
			    address >= line.end)
				continue;
			*low = line.start;
			*high = line.end;
			return 0;
		}
	}
	return -ENOENT;
}

static uintptr_t thread_pointer(void)
{
#if defined(__x86_64__)
	uintptr_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
#else
	return 0;
#endif
}

/* Returns whether a page is readable. The kernel reads the word before it sees that the first argument is invalid, so
 * the call changes nothing. It takes less than a tenth of a microsecond. Every kernel has this call, and every filter
 * of system calls allows it. */
static bool is_readable(uintptr_t address)
{
	return syscall(SYS_rt_sigprocmask, -1, address, NULL, SIGSET_BYTES) < 0 && errno == EINVAL;
}

/* The main thread's control block is not on its stack. It is among mappings, of which the next one may be a fiber's. */
static bool is_main(struct stack_bounds *bounds)
{
	if (!bounds->whose)
		bounds->whose =
			syscall(SYS_gettid) == getpid() ? STACK_BOUNDS_MAIN : STACK_BOUNDS_OTHER;
	return bounds->whose == STACK_BOUNDS_MAIN;
}

/* Finds the part of the stack between the stack pointer and the thread's control block. It is the thread's stack if all
 * of it can be read, because a page below each stack cannot. A deeper launch asks again, only for the pages further
 * down. Not for the main thread. */
static bool query_near(struct stack_bounds *bounds, uintptr_t sp)
{
	uintptr_t page = sp & ~(uintptr_t)(PAGE_BYTES - 1), top = thread_pointer();
	uintptr_t known = bounds->high == top ? bounds->low : top;

	if (top <= sp || top - sp > NEAR_BYTES || known < page)
		return false;
	for (uintptr_t at = page; at < known; at += PAGE_BYTES)
		if (!is_readable(at))
			return false;
	bounds->low = page;
	bounds->high = top;
	return true;
}

static void query_main(struct stack_bounds *bounds, uintptr_t sp)
{
	/* The kernel puts these bytes above the first frame. */
	uintptr_t top = getauxval(AT_RANDOM);

	if (top > sp && top - sp < MAIN_STACK_BYTES) {
		bounds->low = top - MAIN_STACK_BYTES;
		bounds->high = top;
	}
}

/* Finds a thread's stack, which has the thread's control block at its top, in the same mapping. Memory above it may
 * belong to other code, and go away. A stack without the block is a fiber's. Its mapping may shrink, so it is not
 * remembered. */
static void query_thread(struct stack_bounds *bounds, uintptr_t sp)
{
	uintptr_t low, high, top = thread_pointer();
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (stack_bounds_mapping(fd, sp, &low, &high) == 0 && top > sp && top < high) {
		bounds->low = low;
		bounds->high = top;
	}
	close(fd);
}

LAUNCH_PATH uintptr_t stack_bounds_high(struct stack_bounds *bounds, uintptr_t sp, uint64_t now_ns)
{
	if (sp - bounds->low < bounds->high - bounds->low)
		return bounds->high;

	int saved_errno = errno;
	if (!is_main(bounds) && query_near(bounds, sp)) {
		errno = saved_errno;
		return bounds->high;
	}
	errno = saved_errno;
	if (now_ns >= bounds->next_query_ns) {
		bounds->next_query_ns = now_ns + QUERY_INTERVAL_NS;
		if (is_main(bounds))
			query_main(bounds, sp);
		else
			query_thread(bounds, sp);
		errno = saved_errno;
		if (sp - bounds->low < bounds->high - bounds->low)
			return bounds->high;
	}
	return (sp | (PAGE_BYTES - 1)) + 1;
}
