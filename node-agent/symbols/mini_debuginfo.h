/* Reads .gnu_debugdata: a small ELF file inside a stripped one, xz-compressed, with the symbols that strip removed. One
 * thread at a time uses a file. Only this module includes lzma.h. */
#ifndef MINI_DEBUGINFO_H
#define MINI_DEBUGINFO_H

struct elf_file;

/* Decompresses the section. The caller owns *mini: elf_file_close(). Returns 0; -ENOENT: the file has no such section;
 * -EBADMSG: it is damaged; -EFBIG: it is unreasonably large; -ENOEXEC: it holds no ELF file; -ENOMEM. On error *mini is
 * NULL. */
int mini_debuginfo_open(struct elf_file *file, struct elf_file **mini);

#endif
