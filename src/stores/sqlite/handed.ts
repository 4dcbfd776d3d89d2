/** How far a message was handed over: what comes later and is older is late. */
interface Handed {
  readonly handed: string
  readonly handedOpen: string
}

/** The same when an event is handed over. */
export function handedWith({ handed, handedOpen }: Handed, order: string, final: boolean): Handed {
  return {
    handed: order > handed ? order : handed,
    handedOpen: !final && order > handedOpen ? order : handedOpen,
  }
}
