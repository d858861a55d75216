/* Trains the exported model with the data of a file, and writes the trained parameters to another. */
#include "step.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 200, FEATURES = 5 };

static double features[ROWS][FEATURES], labels[ROWS];
static step_state state;

static int read_rows(const char *path) {
    FILE *file = fopen(path, "r");
    int row, column, right = file != NULL;
    for (row = 0; right && row < ROWS; row++) {
        for (column = 0; column < FEATURES; column++)
            right = right && fscanf(file, "%lf", &features[row][column]) == 1;
        right = right && fscanf(file, "%lf", &labels[row]) == 1;
    }
    if (file != NULL)
        fclose(file);
    return right;
}

int main(int count, char **words) {
    double loss = 0;
    int steps, i;
    FILE *file;
    if (count != 4 || !read_rows(words[1])) {
        fprintf(stderr, "usage: train DATA STEPS STATE\n");
        return 2;
    }
    step_init(&state);
    steps = atoi(words[2]);
    for (i = 0; i < steps; i++) {
        int status = step(&state, &features[0][0], labels, &loss);
        if (status != 0) {
            fprintf(stderr, "%s\n", step_message(status));
            return 1;
        }
    }
    file = fopen(words[3], "wb");
    if (file == NULL || step_save(&state, file) != 0 || fclose(file) != 0) {
        fprintf(stderr, "%s cannot be written\n", words[3]);
        return 1;
    }
    printf("loss %.12f\n", loss);
    step_free(&state);
    return 0;
}
