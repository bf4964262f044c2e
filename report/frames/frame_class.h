/* Tells the user's frames from those of frameworks, by their files:
 *   - a Python file below site-packages or dist-packages is its package's, one of the interpreter's library or
 *     frozen is Python's, and one that Inductor generated is Inductor's;
 *   - a library below site-packages, in a directory of the system or of CUDA, or with a known name is a framework, and
 *     so is the interpreter;
 *   - everything else is the user's: programs, other libraries, code in no file. Marks and the one function of CUDA's
 *     that was called are nobody's, and are treated as the user's.
 * Pure; any thread. */
#ifndef FRAME_CLASS_H
#define FRAME_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_CLASS_NAME_MAX 64u /* with brackets and NUL; a longer name is cut */

struct catalog;

enum report_frames {
	REPORT_FRAMES_ALL = 0,
	REPORT_FRAMES_USER = 1, /* neighbouring frames of a framework are one */
};

/* Returns whether the frame is a framework's, and writes that as "[torch]". more (may be NULL) is a list of further
 * frameworks, with commas between them: parts of files' paths, each named by its last directory or file. */
bool frame_class_framework(const struct catalog *catalog, uint32_t frame_id, const char *more,
			   char name[static FRAME_CLASS_NAME_MAX]);

/* The same of a file. is_python: of a Python function; else of native code. is_program: of the process's program. */
bool frame_class_of_file(const char *path, uint32_t size, const char *more, bool is_python,
			 bool is_program, char name[static FRAME_CLASS_NAME_MAX]);

#endif
