/** What an event costs is spent in two places where the store has a server: in the receiver, and there. */

/** The CPU time of a database server. */
export interface DatabaseCpu {
  /** Of all its processes since some moment; of two readings the difference counts. */
  readMs(): Promise<number>
  close(): Promise<void>
}
