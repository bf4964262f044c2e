/* A stream that compresses into another one, as gzip does. The result depends on nothing but what is written: it has no
 * time and no name. Used by one thread. */
#ifndef GZIP_FILE_H
#define GZIP_FILE_H

#include <stdio.h>

/* Returns a stream for writing, which the caller ends with fclose(). Only then is everything in out, whose own errors
 * the caller looks for; out stays open. out is borrowed until fclose(). NULL: out of memory. */
FILE *gzip_file_open(FILE *out);

#endif
