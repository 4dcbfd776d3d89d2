/** A proxy in front of Postgres that reads every statement of its clients, in either protocol. */
import { startSocketServer } from './sockets.ts'

interface RecordingProxy {
  /** The same database, through the proxy. */
  readonly url: string
  close(): Promise<void>
}

const QUERY = 'Q'
const PARSE = 'P'
const LENGTH_BYTES = 4

/** `onStatement`: called with the text of each statement. */
export async function startRecordingProxy(
  postgresUrl: string,
  onStatement: (text: string) => void,
): Promise<RecordingProxy> {
  const url = new URL(postgresUrl)
  const { port, close } = await startSocketServer((client, connect) => {
    const server = connect(Number(url.port || '5432'), url.hostname)
    client.on('data', messageReader(onStatement))
    client.pipe(server).pipe(client)
  })
  const proxied = new URL(url)
  proxied.hostname = '127.0.0.1'
  proxied.port = String(port)
  return { url: proxied.href, close }
}

/** Reads the messages of one client. The first message, which starts the session, has no type. */
function messageReader(onStatement: (text: string) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let typeBytes = 0
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= typeBytes + LENGTH_BYTES) {
      const end = typeBytes + rest.readInt32BE(typeBytes)
      if (rest.length < end) return
      const type = rest.toString('latin1', 0, typeBytes)
      const texts = rest.toString('utf8', typeBytes + LENGTH_BYTES, end).split('\0')
      // In a Parse message, the text follows the name of the statement.
      const text = type === QUERY ? texts[0] : type === PARSE ? texts[1] : undefined
      if (text !== undefined) onStatement(text)
      rest = rest.subarray(end)
      typeBytes = 1
    }
  }
}
