// C++: tasks with objects that have constructors, std::mutex beside OpenMP, exceptions inside tasks.
#include "team.h"

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct trail kept;
std::mutex mutex;
std::vector<std::string> names;

void run(const std::string &name, int depth) {
    work();
    try {
        if (depth % 2)
            throw std::runtime_error(name);
        const std::lock_guard<std::mutex> guard(mutex);
        names.push_back(name);
        step(&kept, depth);
    } catch (const std::runtime_error &error) {
        observe(error.what(), depth);
    }
    for (int i = 0; i < depth; i++) {
        std::string child = name + "/" + std::to_string(i);
#pragma omp task firstprivate(child, depth)
        run(child, depth - 1);
    }
}

} // namespace

int main() {
    team_open();
#pragma omp parallel
    {
#pragma omp single
        run("root", 4);
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 40; i++) {
            const std::lock_guard<std::mutex> guard(mutex);
            names.push_back(std::to_string(i));
            step(&kept, i);
        }
    }
    for (const auto &name : names)
        observe(name.c_str(), 0);
    trail_print("names", &kept);
    team_close();
    return 0;
}
