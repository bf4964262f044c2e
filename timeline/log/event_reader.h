/* Reads an event log (event_format.h), also while it is written. The files may be damaged or hostile: what is not sound
 * is counted and left out. Ids are as the file has them: the caller checks that its store knows them. One thread. */
#ifndef EVENT_READER_H
#define EVENT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "event_format.h"

#include "proto/batch/message.h"

struct event_sums {
	uint64_t files, bytes;
	uint64_t blocks, blocks_read;
	/* files that are left out: no regular files, of another profile, or with a name that no writer gives */
	uint64_t foreign;
	uint64_t
		misnamed; /* files whose heads have other numbers, such as copies: they are left out */
	uint64_t nameless;          /* files of version 1, which do not say whose they are */
	uint64_t launches, records; /* that were read; without take(): that heads of blocks name */
	/* parts of files: a head, a block, a copy of one that was read, or what lies between two; by callers also
	 * single events */
	uint64_t damaged;
	/* a file with damaged parts, and one that is misnamed; 0: there is none */
	uint32_t damaged_number, misnamed_number;
	uint64_t dropped_files, dropped_events; /* because they were too old, or the log was full */
	uint64_t lost_events;                   /* that could not be written */
	uint64_t compressed; /* blocks that cannot be read, because there is no libzstd */
};

/* Gets the events of one process; borrowed for the call. Nonzero ends the reading. */
typedef int event_take(void *context, const struct message_events *events);

/* Says whether a block is wanted. nr_spans 0: nothing is known of it. */
typedef bool event_wants(void *context, const struct event_block_head *head,
			 const struct event_span *spans);

/* Says whether the events of a process are wanted. Those of others are not decoded, and count nowhere. */
typedef bool event_wants_process(void *context, uint32_t process_id);

struct event_asks {
	event_take *take;                   /* NULL: heads and spans alone are read */
	event_wants *wants;                 /* NULL: all are */
	event_wants_process *wants_process; /* NULL: all are */
	void *context;                      /* of all three */
	/* EVENT_FORMAT_ID bytes: files of other profiles are foreign; NULL: the log's writer is not known to the store,
	 * and only files of version 1 are believed */
	const uint8_t *profile;
};

/* Reads the log of the store at this path (event_place.h), the oldest file first, and adds to *sums. 0; -ENOENT: there
 * is no log; -EACCES, -EIO, -ENOMEM; or what take() returned. */
int event_reader_read(const char *store_path, const struct event_asks *asks,
		      struct event_sums *sums);

/* The same for one file of the folder that is open as directory. *begins: its head is sound, and of this profile. */
int event_reader_file(int directory, const char *name, const struct event_asks *asks,
		      struct event_sums *sums, bool *begins);

#define EVENT_READER_NAME 32u /* bytes of a file's name and its end */

/* Writes the name of a log's file. */
void event_reader_name(uint32_t number, char name[static EVENT_READER_NAME]);

/* Returns the number in the name of a log's file; 0: event_reader_name() does not make this name. */
uint32_t event_reader_number(const char *name);

#endif
