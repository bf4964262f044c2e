/* The keys of one aggregator and of those that may send to it: two CURVE pairs (ZeroMQ RFC 26), the aggregator's and
 * one that all of its agents share, and the files that they are kept in. Whoever has an agent's file may send, and is
 * sure of who hears; nobody else may do either. Pure but for files; any thread. */
#ifndef KEY_SET_H
#define KEY_SET_H

#include <stdbool.h>
#include <stdio.h>

#define KEY_SET_TEXT 41u /* a key of 32 bytes in Z85 (ZeroMQ RFC 32), with its NUL */

enum key_role {
	KEY_ROLE_AGGREGATOR, /* has the aggregator's pair and the agents' public key */
	KEY_ROLE_AGENT,      /* has the agents' pair and the aggregator's public key */
};

struct key_set { /* "": not there */
	char server_public[KEY_SET_TEXT], server_secret[KEY_SET_TEXT];
	char client_public[KEY_SET_TEXT], client_secret[KEY_SET_TEXT];
};

/* Has what that role needs, each a key by its form. */
bool key_set_serves(const struct key_set *keys, enum key_role role);

/* Takes one line of a file (key_file.h). 0; -ENOENT: no key has that name; -EINVAL: the value is not a key, or the key
 * was there before, as *why says (static storage). */
int key_set_take(struct key_set *keys, const char *name, const char *value, const char **why);

/* Reads a file of key_set_write(), by key_file.h's rules. 0 or -errno with *error one line, owns: free() (NULL if there
 * was no memory for it): -EPERM: whose it is, or who can read it; -EINVAL: what is wrong in which line, or which key
 * that role needs is missing. On error *keys is empty. */
int key_set_read(const char *path, enum key_role role, struct key_set *keys, char **error);

/* An agent's, likewise; but a file of root's may be readable by its group, too: those whom root lets send. */
int key_set_read_shared(const char *path, struct key_set *keys, char **error);

/* Writes what the role needs, and nothing else, into a new file that only this user can read (0600). 0 or -errno:
 * -EEXIST: there is a file of that name, which stays; then nothing is left behind. */
int key_set_write(const char *path, enum key_role role, const struct key_set *keys);

/* The same lines, into a file that is open. */
void key_set_print(const struct key_set *keys, enum key_role role, FILE *file);

#endif
