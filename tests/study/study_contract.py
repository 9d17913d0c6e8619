"""What every database must do for a study; a back end inherits these tests and gives `url`."""

from tests.study.answers_contract import AnswersContract
from tests.study.keeping_contract import KeepingContract
from tests.study.learning_contract import LearningContract


class StudyContract(LearningContract, AnswersContract, KeepingContract):
    """All of it."""
