/* One run of this command that makes a page. The page is a file without a name in $TMPDIR, else in /tmp; what the
 * command says is kept in memory. A run that takes too long is killed. One thread. */
#ifndef PAGE_CHILD_H
#define PAGE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A run may take so long. The longest that were measured took 8 s on a local disk. A slow network file system gives a
 * fifteenth of that speed; a longer run hangs. */
#define PAGE_CHILD_MOST_NS 120000000000u

enum page_state {
	PAGE_READY,
	PAGE_MAKING, /* ask again */
	PAGE_FULL,   /* there is no place for it; ask again later */
	PAGE_FAILED,
	PAGE_NOTHING, /* what was asked for is not in the profile */
	PAGE_REFUSED, /* nobody can be asked for it: a time that ends before it begins */
};

struct page_child {
	pid_t pid;     /* 0: none, or it has ended */
	bool is_late;  /* it was killed: as long as pid is set, the kernel has not ended it */
	int fd;        /* the page or a part of it; -1: none */
	int error_fd;  /* what the command said: a disk may be full, so it is in memory; -1: none */
	uint64_t size; /* of the page, once it is ready */
	enum page_state state;       /* PAGE_MAKING: it runs */
	uint64_t begun_ns, ended_ns; /* ended_ns: once it does not run any more */
};

/* None has run. */
#define PAGE_CHILD_NONE ((struct page_child){.fd = -1, .error_fd = -1})

/* Starts one in place of PAGE_CHILD_NONE. argv: with the program's name and a NULL. The state is PAGE_MAKING or
 * PAGE_FAILED. */
void page_child_start(struct page_child *child, const char *program, char *const *argv,
		      uint64_t now_ns);

/* Looks whether it has ended, and kills it if it takes too long, which is also logged. name: of the profile. */
void page_child_poll(struct page_child *child, const char *name, uint64_t now_ns);

/* Returns what the command said, or that it said nothing; the caller owns it (free()). NULL: no memory. */
char *page_child_error(const struct page_child *child);

/* Kills it, and gives the page's room back. It becomes PAGE_CHILD_NONE. */
void page_child_fini(struct page_child *child);

#endif
