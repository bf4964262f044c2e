/* The viewer's page, cut at the two places where a report's own text goes. embed.cmake makes the bytes at build time
 * from the page, style and script files of this folder. Constant: any thread may read. */
#ifndef HTML_PAGE_H
#define HTML_PAGE_H

#include <stddef.h>

struct html_page_part {
	const unsigned char *bytes;
	size_t size_bytes;
};

extern const struct html_page_part html_page_before_title; /* up to <title>; HTML text follows */
extern const struct html_page_part
	html_page_before_profile; /* up to the data element; base64 follows */
extern const struct html_page_part html_page_end;

#endif
