/* Makes pages by running this command again, a few at a time, and keeps them while they are asked for. So a page that
 * takes long, or a profile that breaks its reader, harms no other. Pages are files without names in $TMPDIR, else /tmp.
 * The error of a page says if that has no room.
 * One thread. */
#ifndef PAGE_CACHE_H
#define PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_CACHE_PAGES    64u /* further ones take the place of the one not asked for longest */
#define PAGE_CACHE_BYTES    (1u << 30) /* of all pages, but for the newest one */
#define PAGE_CACHE_CHILDREN 2u         /* further pages wait */
#define PAGE_CACHE_FRESH_NS                                                                        \
	2000000000u /* a live page is kept for so long, and four times what it took */
#define PAGE_CACHE_KEY 256u

struct page_cache;

struct page_wanted {
	const char *key;         /* tells it from others; below PAGE_CACHE_KEY bytes */
	const char *const *argv; /* behind the command's name, without a NULL */
	uint32_t nr_argv;        /* at most PAGE_CACHE_ARGUMENTS */
	uint64_t changed_ns;     /* another value: another page */
	bool is_live;            /* it may change without changed_ns */
};

#define PAGE_CACHE_ARGUMENTS 12u

enum page_state {
	PAGE_READY,
	PAGE_MAKING, /* ask again */
	PAGE_FAILED,
	PAGE_NOTHING, /* what was asked for is not in the profile */
	PAGE_REFUSED, /* nobody can be asked for it: a time that ends before it begins */
};

struct page {
	int fd; /* to read from its begin; the caller owns it */
	uint64_t size;
	char *error; /* of the last three, what the command said; the caller owns it (free()); NULL: no memory */
};

/* 0; -errno: *cache is NULL. */
int page_cache_create(struct page_cache **cache);

/* Kills those that still make pages. Accepts NULL. */
void page_cache_destroy(struct page_cache *cache);

/* Takes the page, or has it made. The page is filled in as the state says. */
enum page_state page_cache_get(struct page_cache *cache, const struct page_wanted *wanted,
			       struct page *page);

/* For a command that is to run once: starts it. The key was never used. false: too many run already. */
bool page_cache_begin(struct page_cache *cache, const struct page_wanted *wanted);

/* As page_cache_get(), but runs nothing. PAGE_NOTHING without an error: there is no such page, or none any more. */
enum page_state page_cache_look(struct page_cache *cache, const char *key, struct page *page);

#endif
