/** If the store has a server, an event costs CPU time in two places: in the receiver and in the server. */

/** The CPU time of a database server. */
export interface DatabaseCpu {
  /** CPU time of all server processes since an arbitrary moment; only the difference of two readings is meaningful. */
  readMs(): Promise<number>
  close(): Promise<void>
}
