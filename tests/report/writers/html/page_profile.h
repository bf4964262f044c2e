/* The profile in a page of html_writer, as a browser unpacks it. Any thread. */
#ifndef PAGE_PROFILE_H
#define PAGE_PROFILE_H

#include <stddef.h>

/* Returns the profile's JSON, a NUL, and its columns: *size_bytes in all. The caller owns it: free(). Fails the test if
 * the page has none. */
char *page_profile_unpack(const char *page, size_t *size_bytes);

#endif
