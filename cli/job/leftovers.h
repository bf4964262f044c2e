/* Removes this user's leftovers of killed runs, if they provably have no owner any more. The proof is a lock that its
 * owner holds for life, and that the kernel releases with the owner's end. Single-threaded. */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include <stdbool.h>

/* Removes directories of sockets (step_dir.h, private_dir.h) from the places of this user's, with the register of
 * guests that an agent kept there (guest_register.h). It leaves file systems alone that other hosts may share, since
 * locks need not hold between hosts there. */
void leftovers_remove_sockets(void);

/* Removes rendezvous files in the parent directory of output_path, those that were never published, too, and claims
 * whose rendezvous file is gone. Files
 * whose aggregator still answers, or whose lock cannot be had, are left. Each file whose host is gone may take a
 * second. Once there is news from stop (a descriptor; -1: none), it ends before the next file. */
void leftovers_remove_rendezvous(const char *output_path, int stop);

/* Returns whether the aggregator of a rendezvous file may still run. */
bool leftovers_rendezvous_lives(const char *path);

#endif
