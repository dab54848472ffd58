//! The program under the eyes of those who operate it: a real Prometheus, a real receiver of traces, probes, and logs for
//! machines.

mod figures;
mod logs;
mod served;
mod sink;
mod traces;
