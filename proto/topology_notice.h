/* The notice of a process (message_process.notices) that says at which switch of the network its host is: the words
 * below, then "switch s3" or "block b1", as Slurm calls it. Reports group hosts by it. Aggregators and reports that do
 * not know it take it for a line like others. */
#ifndef TOPOLOGY_NOTICE_H
#define TOPOLOGY_NOTICE_H

#define TOPOLOGY_NOTICE "network topology: "

#endif
