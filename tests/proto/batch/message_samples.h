/* Messages to try the codec on: at least one of each type that is sent, plain, empty and extreme
 * ones. Static storage, made on first use; one thread. */
#ifndef MESSAGE_SAMPLES_H
#define MESSAGE_SAMPLES_H

#include "proto/batch/message.h"

#define NR_MESSAGE_SAMPLES 60u

/* index below NR_MESSAGE_SAMPLES. */
const struct message *message_samples_get(uint32_t index);

#endif
