/* Text in documents of Markdown (CommonMark, and tables of GitHub's). Any thread. */
#ifndef MARKDOWN_TEXT_H
#define MARKDOWN_TEXT_H

#include <stdio.h>

/* Write clean text (clean_text.h) of one line, so that it shows as it is: no mark, link, tag or cell begins in it. As
 * code a grave accent becomes an apostrophe. Source: CommonMark 0.31 §2.4. */
void markdown_text_write(FILE *out, const char *text);
void markdown_text_code(FILE *out, const char *text);

#endif
