/* The notice of a process (message_process.notices) that says which driver the GPUs of its host have: the words below,
 * then "550.54.15". It is exported as a label. Aggregators and reports that do not know it take it for a line like
 * others. */
#ifndef DRIVER_NOTICE_H
#define DRIVER_NOTICE_H

#define DRIVER_NOTICE "NVIDIA driver: "

#endif
