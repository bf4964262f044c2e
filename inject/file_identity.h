/* Tells the loaded files of a process apart, also those that lie at one path one after the other: a library may be
 * built again while the process runs. One thread. */
#ifndef FILE_IDENTITY_H
#define FILE_IDENTITY_H

#include <stdint.h>

struct definition_module;

/* Returns a hash, never 0, of what tells a file apart: the path by which it was loaded, its build id, the content that
 * the caller has hashed, and the device, inode, size and times that the file at the path has now. The last four tell
 * builds apart whose loaded parts are equal, as where only a static function got another name. Another file may have
 * come to the path since the loading; then these are that file's. Keeps errno. */
uint64_t file_identity_of(const char *path, const struct definition_module *module,
			  uint64_t content);

#endif
