// Frames that arrive at a fixed rate, as a camera delivers them; compiled in with TRIMTAB_PACED.
#ifndef TRIMTAB_APP_PACER_H_
#define TRIMTAB_APP_PACER_H_

#include <stdint.h>

namespace trimtab {

class Pacer {
 public:
  // The first frame arrives now, another every `period_ns`.
  explicit Pacer(int64_t period_ns);

  // Takes the newest frame that arrived and was not taken yet, or sleeps until one arrives. Older
  // frames are dropped.
  void Next();

  // Number of the frame that `Next` took, and its time of arrival.
  int64_t frame() const { return frame_; }
  int64_t arrival_ns() const { return start_ns_ + frame_ * period_ns_; }

 private:
  int64_t period_ns_, start_ns_;
  int64_t frame_ = -1;
};

}  // namespace trimtab

#endif  // TRIMTAB_APP_PACER_H_
