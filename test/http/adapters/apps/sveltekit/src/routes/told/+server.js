import { told } from '$lib/status.js'

export const GET = () => Response.json(told())
