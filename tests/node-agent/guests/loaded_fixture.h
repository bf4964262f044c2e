/* A library that the test itself loads, so that the loader says where things are in it. */
#ifndef LOADED_FIXTURE_H
#define LOADED_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* The virtual address, in its file, of a symbol of the library at path. */
uint64_t loaded_fixture_vaddr(const char *path, const char *symbol);

/* The same by the symbol table of a file that need not be a library. */
uint64_t loaded_fixture_function(const char *path, const char *symbol);

int loaded_fixture_int(const char *path, const char *symbol);

/* A new directory, and files in it. Ends the test on failure. */
void loaded_fixture_directory(char *directory, size_t max);
void loaded_fixture_copy(const char *from, const char *to);
void loaded_fixture_remove(const char *directory);

/* Runs a program, up to four arguments, NULL behind them, and ends the test unless it succeeds. */
void loaded_fixture_run(const char *program, const char *const arguments[static 5]);

/* Opens an ELF file that is known to be one. */
struct elf_file *loaded_fixture_open(const char *path);

#endif
