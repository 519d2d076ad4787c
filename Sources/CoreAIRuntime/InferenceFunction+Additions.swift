import CoreAIBackend

extension InferenceFunction {
    /// How many threads of this process compute on the processor at once, shared by all functions and models.
    ///
    /// By default the processors this process may use: those of its affinity mask, fewer if a control group limits its
    /// time. The variable `COREAI_NUM_THREADS` changes the default; a number set here wins over both and holds for the
    /// runs that begin afterwards. Numbers below 1 count as 1. Further runs wait in line.
    public static var processorThreads: Int {
        get { WorkerPool.shared.width }
        set { WorkerPool.shared.setWidth(newValue) }
    }
}
