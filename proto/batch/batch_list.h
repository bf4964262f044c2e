/* Encodes and decodes the lists of messages (message_layout.h). Part of batch_encode and batch_decode; nobody else
 * includes it. */
#ifndef BATCH_LIST_H
#define BATCH_LIST_H

#include "batch_reader.h"
#include "batch_rooms.h"
#include "batch_writer.h"
#include "message.h"
#include "message_layout.h"

/* Returns whether a list is left out if no list follows it. */
bool batch_list_is_left_out(const struct message_list *list, const struct message *message);

/* Writes and reads one list. The header of the list's own array, if it has one, is the caller's. */
void batch_list_put(struct batch_writer *writer, const struct message_list *list,
		    const struct message *message);

/* The rows are in room number `room`. Their bytes that do not travel are 0. Returns the rows, which the message has,
 * too. NULL: the list is empty, or there is a fault. */
void *batch_list_get(struct batch_rooms *rooms, uint32_t room, struct batch_reader *reader,
		     const struct message_list *list, struct message *message);

#endif
