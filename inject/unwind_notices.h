/* Tells in words how native stacks went in this process: what the unwind tables cost, and in which files walks ended
 * before a root. On the guest's helper thread, when the process ends. */
#ifndef UNWIND_NOTICES_H
#define UNWIND_NOTICES_H

struct definition_writer;
struct unwind_tables;

/* Writes NOTICE_UNWIND_TABLES, and a NOTICE_UNWIND_STOPPED for each of the few files in which most
 * walks stopped. Takes the loader's lock. */
void unwind_notices_write(const struct unwind_tables *tables,
			  struct definition_writer *definitions);

#endif
