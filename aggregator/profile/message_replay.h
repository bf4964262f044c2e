/* Applies logged messages again (message_log.h). One thread uses a collection. */
#ifndef MESSAGE_REPLAY_H
#define MESSAGE_REPLAY_H

#include <stdint.h>

struct collection;

/* Applies the messages of a block to a collection in the state that it had when the first of them was added. It does
 * not log them. 0; -ENOMEM; -EPROTO: they do not follow that state. After an error the collection is not exact. */
int message_replay(struct collection *collection, const uint8_t *bytes, uint32_t size);

#endif
