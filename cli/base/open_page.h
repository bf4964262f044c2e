/* Shows the page of a profile in the user's browser. Single-threaded. */
#ifndef OPEN_PAGE_H
#define OPEN_PAGE_H

/* Opens flame.html of the profile, a directory or the store in one, by xdg-open. Over SSH, without a display or without
 * xdg-open it prints the command that copies the page to the user's own machine. 0, or -errno after a message; -ENOENT:
 * there is no page. */
int open_page(const char *profile_path);

#endif
