/** A proxy that cuts the connection after a number of bytes, counted from the call that sets it. */
import type net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startSocketServer } from './sockets.ts'

type Direction = 'reply' | 'request'

interface CuttingProxy {
  readonly port: number
  /** Bytes passed on in this direction since the last `cutAfter`, on all connections. */
  passed(direction: Direction): number
  /** From now on, passes on exactly this many bytes in this direction, then cuts the connection. */
  cutAfter(direction: Direction, bytes: number): void
  /** Stops cutting; returns whether a connection was cut. */
  disarm(): boolean
  /** Passes bytes on one at a time, in both directions. */
  dribbles: boolean
  close(): Promise<void>
}

interface Trap {
  readonly direction: Direction
  left: number
}

export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  let trap: Trap | undefined
  let passed = { reply: 0, request: 0 }
  let dribbles = false

  async function passOn(to: net.Socket, bytes: Buffer): Promise<void> {
    if (!dribbles) {
      to.write(bytes)
      return
    }
    for (const byte of bytes) {
      to.write(Buffer.of(byte))
      await nextTurn()
    }
  }

  function pipe(from: net.Socket, to: net.Socket, direction: Direction): void {
    let last = Promise.resolve()
    from.on('data', (chunk: Buffer) => {
      const isTrap = trap?.direction === direction && trap.left < chunk.length
      const bytes = isTrap ? chunk.subarray(0, trap?.left ?? 0) : chunk
      passed = { ...passed, [direction]: passed[direction] + bytes.length }
      if (trap?.direction === direction) trap.left -= chunk.length
      if (isTrap) trap = undefined
      last = last.then(() => passOn(to, bytes))
      if (isTrap)
        // Bytes that were passed on arrive before the end does.
        void last.then(() => {
          to.end(() => from.destroy())
          setTimeout(() => to.destroy(), 50)
        })
    })
    from.on('close', () => void last.then(() => to.destroy()))
  }

  const { port, close } = await startSocketServer((client, connect) => {
    const behind = connect(target)
    pipe(client, behind, 'request')
    pipe(behind, client, 'reply')
  })

  return {
    port,
    close,
    passed: (direction) => passed[direction],
    cutAfter(direction, bytes) {
      passed = { reply: 0, request: 0 }
      trap = { direction, left: bytes }
    },
    disarm() {
      const isCut = trap === undefined
      trap = undefined
      return isCut
    },
    get dribbles() {
      return dribbles
    },
    set dribbles(next) {
      dribbles = next
    },
  }
}
