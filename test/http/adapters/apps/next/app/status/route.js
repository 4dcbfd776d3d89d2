import { shared } from '../receiver.mjs'

export const POST = shared.status
export { POST as GET, POST as HEAD, POST as PUT }
