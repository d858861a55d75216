// Reads trained parameters and predicts; the header of an exported function is one of C++, too.
#include "predict.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

constexpr std::size_t rows = 200, features = 5;

class Model {
public:
    explicit Model(const char *path) : state_(new predict_state) {
        predict_init(state_.get());
        std::FILE *file = std::fopen(path, "rb");
        const bool read = file != nullptr && predict_load(state_.get(), file) == 0;
        if (file != nullptr)
            std::fclose(file);
        if (!read)
            throw std::runtime_error("no parameters of this model");
    }
    ~Model() { predict_free(state_.get()); }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    std::vector<double> operator()(const std::vector<double> &x) {
        std::vector<double> result(rows);
        const int status = predict(state_.get(), x.data(), result.data());
        if (status != 0)
            throw std::runtime_error(predict_message(status));
        return result;
    }

private:
    std::unique_ptr<predict_state> state_;
};

int main(int count, char **words) {
    if (count != 3) {
        std::cerr << "usage: predict_rows DATA STATE\n";
        return 2;
    }
    try {
        std::ifstream file(words[1]);
        std::vector<double> x(rows * features), labels(rows);
        for (std::size_t row = 0; row < rows; row++) {
            for (std::size_t column = 0; column < features; column++)
                file >> x[row * features + column];
            file >> labels[row];
        }
        if (!file)
            throw std::runtime_error("the data cannot be read");
        Model model(words[2]);
        const std::vector<double> found = model(x);
        int right = 0;
        for (std::size_t row = 0; row < rows; row++)
            right += (found[row] > 0.5) == (labels[row] > 0.5);
        std::cout << right << " of " << rows << " right\n";
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
