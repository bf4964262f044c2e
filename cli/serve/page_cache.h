/* Makes pages by running this command again, a few at a time, and keeps them while they are asked for. So a page that
 * takes long, or a profile that breaks its reader, harms no other. Pages are made in the order in which they were asked
 * for, and a page stays until its asker has come back for it. Pages are files without names in $TMPDIR, else /tmp. The
 * error of a page says if that has no room.
 * One thread. */
#ifndef PAGE_CACHE_H
#define PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "page_child.h"

/* Those that wait, are made or are kept: further ones take the place of the one not asked for longest. A client's
 * descriptors suffice for two each. */
#define PAGE_CACHE_PAGES    256u
#define PAGE_CACHE_BYTES    (1u << 30) /* of all pages: then no further one is made, until some go */
#define PAGE_CACHE_CHILDREN 2u         /* further pages wait; what is made ahead does not count */
#define PAGE_CACHE_FRESH_NS                                                                        \
	2000000000u /* a live page is kept for so long, and four times what it took; an error once */
/* A page's asker comes back within this time. Until then a page that was made keeps its place, and one that waits keeps
 * its turn. A browser asks each second at least, but for hidden tabs. */
#define PAGE_CACHE_HELD_NS   30000000000u
#define PAGE_CACHE_KEY       256u /* bytes, with the NUL */
#define PAGE_CACHE_ARGUMENTS 12u

struct page_cache;

struct page_wanted {
	const char *key; /* tells it from others; below PAGE_CACHE_KEY bytes */
	const char *const
		*argv;    /* behind the command's name, without a NULL; the last is the profile */
	uint32_t nr_argv; /* 1 to PAGE_CACHE_ARGUMENTS */
	uint64_t changed_ns; /* another value: another page */
	bool is_live;        /* it may change without changed_ns */
};

enum page_ask {
	PAGE_TAKE, /* the page goes to its asker */
	PAGE_LOOK, /* its asker comes back and takes it */
	PAGE_AHEAD, /* nobody asks yet: it is made if no page waits, one at a time and beside the others */
};

struct page {
	int fd; /* to read from its begin; the caller owns it */
	uint64_t size;
	char *error; /* of PAGE_FAILED and behind, what the command said; the caller owns it (free()); NULL: no
			memory */
};

/* 0; -errno: *cache is NULL. */
int page_cache_create(struct page_cache **cache);

/* Kills those that still make pages. Accepts NULL. */
void page_cache_destroy(struct page_cache *cache);

/* Takes the page, or has it made. The page is filled in as the state says. */
enum page_state page_cache_get(struct page_cache *cache, const struct page_wanted *wanted,
			       enum page_ask ask, struct page *page);

/* For a command that is to run once: starts it. The key was never used. false: too many run already. */
bool page_cache_begin(struct page_cache *cache, const struct page_wanted *wanted);

/* As page_cache_get(), but runs nothing. PAGE_NOTHING without an error: there is no such page, or none any more. */
enum page_state page_cache_look(struct page_cache *cache, const char *key, enum page_ask ask,
				struct page *page);

/* Ends commands that take too long, and begins those that wait. All other calls do so, too; this is for the time in
 * which nobody asks. */
void page_cache_tend(struct page_cache *cache);

#endif
