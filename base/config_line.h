/* What the lines of our text files have in common: blanks, and comments, which begin with a # at the start of a line or
 * after a blank. Any thread. */
#ifndef CONFIG_LINE_H
#define CONFIG_LINE_H

#define CONFIG_LINE_BLANKS " \t\r\n"

/* Ends the line before its comment. */
void config_line_cut_comment(char *line);

/* Ends the text behind its last character that is no blank. */
void config_line_cut_blanks(char *text);

#endif
