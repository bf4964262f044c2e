/* Reads the rules of classes that a user and a site add to the built-in ones (kernel_class.h). A line is
 * `CLASS PATTERN`: the class of kernels whose names the regular expression fits. The pattern ends with the line. A
 * comment begins with a # at the start of a line or after a blank. Single-threaded. */
#ifndef CLASS_LIST_H
#define CLASS_LIST_H

#define CLASS_LIST_SITE "/etc/flamegrid/classes"
#define CLASS_LIST_OWN                                                                             \
	"flamegrid/classes" /* in $XDG_CONFIG_HOME or ~/.config; it comes before the site's */
#define CLASS_LIST_ENV "FLAMEGRID_CLASSES" /* names a file in place of both; "": none */

/* Reads the files that are in force, and puts their rules in place of those added before. 0, also if there is no file;
 * -errno: *error is one line that names the file and the line, which the caller owns (free()), and no rule is added.
 * NULL: out of memory. */
int class_list_read(char **error);

#endif
