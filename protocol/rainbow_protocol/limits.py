"""Every bound of the protocol, in one place.

Both ends check them: the sender so that it fails early with good words, the
receiver because it trusts nobody. Units are the last word of each name.
"""

# Frames and batches
FRAME_BYTES_MAX = 4 * 1024 * 1024
BATCH_ITEMS_MAX = 1_000

# Sessions
SEND_QUEUE_FRAMES_MAX = 4_096  # a peer that reads slower than this is cut off
INBOX_COMMANDS_MAX = 8_192  # beyond this, sockets are not read: TCP pushes back
HELLO_TIMEOUT_S = 10.0
PING_INTERVAL_S = 20.0
PING_TIMEOUT_S = 20.0
TOKENS_MAX = 256
WATCHES_PER_SESSION_MAX = 10_000
REQUESTS_IN_FLIGHT_MAX = 1_024  # of one client session

# Names
NAME_CHARS_MAX = 63
NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"  # clusters: a DNS label
JOB_ID_CHARS = 12
KEY_CHARS_MAX = 128
TOKEN_CHARS_MAX = 256
AGENT_ID_CHARS_MIN = 8
AGENT_ID_CHARS_MAX = 64
VERSION_CHARS_MAX = 64
BACKEND_CHARS_MAX = 32
NATIVE_ID_CHARS_MAX = 64

# Numbers: exact in every JSON reader, and within what SQLite and a file's offset can hold
REQUEST_ID_MAX = 2**53 - 1
OFFSET_BYTES_MAX = 2**53 - 1
EVENT_SEQ_MAX = 2**53 - 1
ATTEMPT_MAX = 2**31
REPORT_SEQ_MAX = 2**31
EXIT_CODE_MIN = -255
EXIT_CODE_MAX = 2**31
TIMESTAMP_S_MAX = 1e11

# Jobs
JOB_NAME_CHARS_MAX = 128
COMMAND_WORDS_MAX = 4_096
COMMAND_CHARS_MAX = 128 * 1024  # all words together
ENV_VARIABLES_MAX = 1_024
ENV_CHARS_MAX = 256 * 1024  # names and values together
COMMAND_SHOWN_CHARS_MAX = 200  # of the one line that lists show
CWD_CHARS_MAX = 4_096
CLUSTERS_WANTED_MAX = 256
STATES_WANTED_MAX = 32
TIME_LIMIT_S_MAX = 366 * 24 * 3600
NODES_MAX = 1_000_000
TASKS_MAX = 10_000_000
CORES_PER_TASK_MAX = 100_000
GPUS_PER_TASK_MAX = 10_000
REQUEST_DETAIL_BYTES_MAX = 1024 * 1024  # of all that a request says beside its command and environment

# What a job asks of the resource graph
RESOURCE_NAME_CHARS_MAX = 128
RESOURCE_VALUE_CHARS_MAX = 512
RESOURCE_UNIT_CHARS_MAX = 16
RESOURCE_NUMBER_MAX = 2**53 - 1  # that a requirement compares with
RESOURCE_COUNT_MAX = 10**15  # bytes of memory are counted too
RESOURCE_DEPTH_MAX = 16
RESOURCE_CHILDREN_MAX = 32
RESOURCE_VERTICES_MAX = 256  # of one request
RESOURCE_VALUES_MAX = 256
RESOURCE_CONDITIONS_MAX = 64
CONSTRAINT_VALUES_MAX = 1_024
ALTERNATIVES_MAX = 16
NEEDS_MAX = 64
PROGRAM_TASKS_MAX = 256
PROGRAM_GROUPS_MAX = 64
REPLICAS_MAX = 100_000
DEPENDENCIES_MAX = 64
PARAMETERS_MAX = 64
IMAGE_CHARS_MAX = 1_024

# Documents that jobs are read from
JOBSPEC_CHARS_MAX = 1024 * 1024
JOBSPEC_VALUES_MAX = 50_000  # counting what YAML's aliases stand for
JOBSPEC_DEPTH_MAX = 64
JOBSPEC_REMARKS_MAX = 100

# Descriptions of clusters
GRAPH_BYTES_MAX = 256 * 1024 * 1024  # of a document, as it stands in its file
GRAPH_PART_BYTES_MAX = 2 * 1024 * 1024  # of its compressed form, in one frame
GRAPH_PART_CHARS_MAX = (GRAPH_PART_BYTES_MAX + 2) // 3 * 4  # the same in base64
GRAPH_SENT_BYTES_MAX = 64 * 1024 * 1024  # of its compressed form, all parts together
GRAPH_VERTICES_MAX = 2_000_000
GRAPH_DEPTH_MAX = 32
GRAPH_SIZE_MAX = 10**18  # of one vertex
GRAPH_KINDS_MAX = 10_000  # different kinds of subtree in one cluster
GRAPH_FACTS_MAX = 100_000  # types of vertex, summed over all kinds of subtree
SUBSYSTEMS_MAX = 64  # of one cluster
SUBSYSTEM_VERTICES_MAX = 200_000
SUBSYSTEM_EDGES_MAX = 2_000_000

# Clusters
CORES_PER_NODE_MAX = 100_000
GPUS_PER_NODE_MAX = 10_000
CORES_MAX = NODES_MAX * CORES_PER_NODE_MAX
GPUS_MAX = NODES_MAX * GPUS_PER_NODE_MAX
JOBS_COUNTED_MAX = 1_000_000_000  # queued or running in one cluster
STATE_KEYS_MAX = 64
STATE_VALUE_CHARS_MAX = 256
GROUP_CLUSTERS_MAX = 1_000

# Wishes
POLICY_OPTIONS_MAX = 32
POLICY_OPTION_CHARS_MAX = 16 * 1024  # a policy's steps may be one option
AFTER_JOBS_MAX = 256
URGENCY_MAX = 31  # as in Flux
URGENCY_DEFAULT = 16
USER_CHARS_MAX = 64

# Arrays
ARRAY_JOBS_MAX = 10_000
SUBMIT_JOBS_MAX = 10_000  # of one frame in all, each member of its arrays counted
ARRAY_INDEX_MAX = 2**31 - 1
ARRAY_TEXT_CHARS_MAX = 1_024

# Words for people
REASON_CHARS_MAX = 500
MISTAKE_PATH_CHARS_MAX = 200  # of the path to a wrong field, which a peer chooses
CURRENCY_CHARS_MAX = 8

# Bids
ETA_S_MAX = 10 * 366 * 24 * 3600.0
COST_MAX = 1e15

# Output and events
OUTPUT_CHUNK_BYTES_MAX = 256 * 1024
OUTPUT_CHUNK_CHARS_MAX = (OUTPUT_CHUNK_BYTES_MAX + 2) // 3 * 4  # the same in base64
OUTPUT_WAIT_S_MAX = 30.0
EVENTS_PAGE_MAX = 1_000
JOBS_PAGE_MAX = 1_000

# History: past this a job's repeated auctions are no longer written down one by one
HISTORY_EVENTS_MAX = 400
