/* .gnu_debugdata: a small ELF file with the symbols that strip removed, xz-compressed, inside the
 * stripped one. One object is used by one thread at a time. The only place that includes lzma.h. */
#ifndef MINI_DEBUGINFO_H
#define MINI_DEBUGINFO_H

struct elf_file;

/* Decompresses it. The caller owns *mini: elf_file_close(). 0; -ENOENT: the file has none;
 * -EBADMSG: damaged; -EFBIG: unreasonably large; -ENOEXEC: not ELF; -ENOMEM. On error *mini is NULL.
 */
int mini_debuginfo_open(struct elf_file *file, struct elf_file **mini);

#endif
